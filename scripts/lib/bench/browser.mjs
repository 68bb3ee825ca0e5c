// One round of one configuration in a fresh Chromium profile: a first visit that measures, a second that only loads, and where attention needs another
// model a third.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import puppeteer from 'puppeteer-core';

import { serveFolder } from '../static_server.mjs';
import { ATTENTION, CURVE_TOKENS, DECODE, PREFILL } from './configurations.mjs';

export const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const ADAPTERS = { lookback: '/bundle/lookback.js', wllama: '/page/adapters/wllama.js', ort: '/page/adapters/ort.js' };
const VISIT_MS = 900000;

/** @param {string} file path of a script or module */
const isCode = (file) => /\.(m?js|wasm)$/.test(file) && !/\/served\/page\//.test(file);

const gzippedSizes = new Map();
function gzipped(file) {
  if (!gzippedSizes.has(file)) gzippedSizes.set(file, gzipSync(readFileSync(file), { level: 9 }).length);
  return gzippedSizes.get(file);
}

/**
 * @param {import('./configurations.mjs').Configuration} configuration
 * @param {{folder: string, chromium: string, prompts: object}} where
 */
export async function browserRound(configuration, { folder, chromium, prompts }) {
  const files = new Set();
  const server = await serveFolder({
    folder,
    isolation: configuration.isolated,
    policy: null,
    onFile: (file) => files.add(file),
  });
  const profile = mkdtempSync(join(tmpdir(), 'lookback-bench-'));
  const browser = await puppeteer.launch({
    executablePath: chromium,
    headless: true,
    userDataDir: profile,
    args: FLAGS,
    protocolTimeout: VISIT_MS,
  });
  const visit = async (more, after = async () => ({})) => {
    const page = await browser.newPage();
    const { runtime, threads, variant, precision, model } = configuration;
    const full = {
      adapter: ADAPTERS[runtime],
      inWorker: runtime === 'ort',
      threads,
      variant,
      precision,
      model,
      ...more,
    };
    await page.evaluateOnNewDocument(rememberMemories);
    page.on('workercreated', (worker) => worker.evaluate(rememberMemories).catch(() => {}));
    // Prompts are long for an address, so they wait in the page.
    await page.evaluateOnNewDocument((data) => (window.visit = data), full);
    await page.goto(`${server.url}page/index.html`);
    await page.waitForFunction(() => window.visitResult !== undefined, { timeout: VISIT_MS, polling: 250 });
    const result = await page.evaluate(() => window.visitResult);
    if (result.error) throw new Error(`${runtime}: ${result.error}`);
    Object.assign(result, await after(page));
    await page.close();
    return result;
  };
  try {
    const plan = {
      prefill: PREFILL,
      decode: DECODE,
      attention: configuration.attention ?? false,
    };
    const named = { ...prompts, attention: prompts[ATTENTION] };
    const first = await visit({ plan, prompts: named }, async (page) => ({ memoryBytes: await wasmMemory(page) }));
    const code = [...files].filter(isCode).reduce((sum, file) => sum + gzipped(file), 0);
    // Long prompts come after the memory was read: it never shrinks.
    const { curve: lengths } = configuration;
    const again = await visit({ plan: lengths ? { curve: lengths, curveTokens: CURVE_TOKENS } : null, prompts: named });
    let { attentionMs = null } = first;
    if (configuration.attentionModel)
      ({ attentionMs } = await visit({
        plan: { attention: true },
        prompts: named,
        model: configuration.attentionModel,
      }));
    if (first.isolated !== configuration.isolated)
      throw new Error(`the page is ${first.isolated ? '' : 'not '}isolated`);
    return { ...first, curve: again.curve, readyFromCacheMs: again.loadMs, attentionMs, codeBytes: code };
  } finally {
    await browser.close();
    await server.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** Runs in every realm before its modules are made, and remembers their memories: those constructed and those exported. */
function rememberMemories() {
  const seen = new Set();
  globalThis.wasmMemories = () =>
    [...seen].map(({ buffer }) => ({ bytes: buffer.byteLength, shared: !(buffer instanceof ArrayBuffer) }));
  const { Memory } = WebAssembly;
  WebAssembly.Memory = new Proxy(Memory, {
    construct: (target, args) => {
      const memory = Reflect.construct(target, args);
      seen.add(memory);
      return memory;
    },
  });
  for (const name of ['instantiate', 'instantiateStreaming']) {
    const original = WebAssembly[name];
    WebAssembly[name] = async (...args) => {
      const made = await original.apply(WebAssembly, args);
      for (const value of Object.values((made.instance ?? made).exports)) if (value instanceof Memory) seen.add(value);
      return made;
    };
  }
}

/**
 * Bytes of WebAssembly memory that a page and its workers hold; it never shrinks, so this is the most they held. A shared memory may be seen from several
 * workers and counts once; a worker that waits on it does not answer, and has none of its own.
 * @param {import('puppeteer-core').Page} page
 */
async function wasmMemory(page) {
  const ask = (realm) => realm.evaluate(() => globalThis.wasmMemories?.() ?? []);
  const patience = () => new Promise((resolve) => setTimeout(resolve, 3000, []));
  const found = (
    await Promise.all([page, ...page.workers()].map((realm) => Promise.race([ask(realm), patience()])))
  ).flat();
  if (!found.length) throw new Error('no WebAssembly memory was seen');
  const bytes = (list) => list.map((memory) => memory.bytes);
  const own = bytes(found.filter((memory) => !memory.shared));
  return own.reduce((a, b) => a + b, 0) + Math.max(0, ...bytes(found.filter((memory) => memory.shared)));
}
