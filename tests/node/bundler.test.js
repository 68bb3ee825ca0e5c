// The built package in somebody else's bundle: worker and engine have to come along, whatever the page imports.
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from 'vite';
import { root } from './support/data.js';

test('a Vite app that imports the package ships its worker, all four engines and no part of Node', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lookback-bundle-'));
  try {
    await mkdir(join(folder, 'node_modules'));
    await cp(join(root, 'dist/package'), join(folder, 'node_modules/lookback'), { recursive: true });
    for (const name of ['@huggingface', 'hash-wasm', 'idb', 'wasm-feature-detect']) {
      await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
    }
    await writeFile(join(folder, 'index.html'), '<!doctype html><script type="module" src="app.js"></script>');
    await writeFile(
      join(folder, 'app.js'),
      `import { loadModel } from 'lookback';
       const model = await loadModel('weights.gguf');
       const pass = await model.forward('Hello');
       document.body.textContent = JSON.stringify(await pass.top(5));`,
    );
    await build({
      root: folder,
      configFile: false,
      base: './',
      logLevel: 'error',
      worker: { format: 'es' },
      build: { target: 'es2022', assetsInlineLimit: 0 },
    });
    const assets = await readdir(join(folder, 'dist/assets'));
    assert.equal(assets.filter((name) => name.endsWith('.wasm')).length, 4, assets.join(' '));
    const worker = assets.find((name) => /^worker.*\.js$/.test(name));
    assert.ok(worker, assets.join(' '));
    const texts = await Promise.all(
      assets.filter((name) => name.endsWith('.js')).map((name) => readFile(join(folder, 'dist/assets', name), 'utf8')),
    );
    assert.ok(
      texts.some((text) => text.includes(worker)),
      'nobody starts the worker',
    );
    for (const text of texts) assert.doesNotMatch(text, /from\s*["']node:|import\(["']node:/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
