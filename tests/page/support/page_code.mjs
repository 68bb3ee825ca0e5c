import { gzipSync } from 'node:zlib';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SITE } from './browser.mjs';

/** Bytes, gzipped, of both pages, styles, scripts, and the one engine that a browser loads. */
export function pageCodeBytes() {
  const zipped = (file) => gzipSync(readFileSync(join(SITE, file)), { level: 9 }).length;
  const assets = readdirSync(join(SITE, 'assets'));
  const wasm = Math.max(...assets.filter((f) => f.endsWith('.wasm')).map((f) => zipped(`assets/${f}`)));
  // Each set of the engine comes with its own glue; a browser takes one. All chunks of the page are counted, used or not.
  const glue = assets.filter((f) => /^lookback-.*\.js$/.test(f)).map((f) => zipped(`assets/${f}`));
  const rest = assets
    .filter((f) => /\.(js|css|svg)$/.test(f) && !/^lookback-/.test(f))
    .reduce((sum, f) => sum + zipped(`assets/${f}`), 0);
  return wasm + Math.max(...glue) + rest + zipped('index.html') + zipped('by-hand.html') + zipped('sw.js');
}
