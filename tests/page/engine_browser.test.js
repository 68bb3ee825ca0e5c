// The package in Chromium without the page around it: storage that is kept, spoiled, shared by two tabs; workers that die; threads; memory.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { DATA, launch, openPage, reference } from './support/browser.mjs';
import { startServer } from './support/static_server.mjs';

const SHARD_BYTES = 100000;
const weights = readFileSync(join(DATA, 'tiny/tiny-F32.gguf'));
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');
const expected = reference('tiny/tiny-F32.expected.json');
const last = expected.ids.length - 1;
const CSP = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; img-src data:";

let chrome;
let site;
let folder;
let asked;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lookback-engine-'));
  await build({
    root: fileURLToPath(new URL('./support/engine_page', import.meta.url)),
    base: './',
    logLevel: 'error',
    worker: { format: 'es' },
    build: { outDir: folder, emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0 },
  });
  const shards = [];
  for (let at = 0; at < weights.length; at += SHARD_BYTES) shards.push(weights.subarray(at, at + SHARD_BYTES));
  const manifest = {
    name: 'tiny.gguf',
    format: 'gguf',
    bytes: weights.length,
    sha256: hash(weights),
    shards: shards.map((bytes, index) => ({ url: `tiny.gguf.00${index}`, bytes: bytes.length, sha256: hash(bytes) })),
  };
  asked = [];
  site = await startServer({
    root: folder,
    csp: CSP,
    mounts: { '/tiny': join(DATA, 'tiny') },
    answer: (path, request, response) => {
      if (path.startsWith('/sub/shards/') || path.startsWith('/shards/')) {
        asked.push(`${request.method} ${path}`);
        const index = /\.00(\d)$/.exec(path)?.[1];
        response.end(index === undefined ? JSON.stringify(manifest) : shards[index]);
        return true;
      }
      if (path.startsWith('/endless')) {
        // All but the last bytes, which never come.
        response.writeHead(200, { 'Content-Length': weights.length });
        response.write(weights.subarray(0, weights.length - 64));
        return true;
      }
      if (path.startsWith('/tiny')) asked.push(`${request.method} ${path}`);
      return false;
    },
  });
  chrome = await launch();
});
after(async () => {
  await chrome?.close();
  await site?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(url = site.url) {
  const opened = await openPage(chrome.browser);
  await opened.page.goto(url);
  await opened.page.waitForFunction(() => globalThis.lookback);
  return opened;
}

/** Loads, runs the reference ids, and tells what came of it. */
const answerOf = (page, source, options = {}) =>
  page.evaluate(
    async (from, settings, ids) => {
      const phases = [];
      const onProgress = ({ phase, loaded, total }) => phases.push([phase, loaded, total]);
      const model = await globalThis.lookback.loadModel(from, { ...settings, onProgress });
      const pass = await model.forward(ids);
      const logits = [...(await pass.logits())];
      const { info } = model;
      await model.dispose();
      return { logits, info, phases };
    },
    source,
    options,
    expected.ids,
  );
const right = ({ logits }) => {
  const worst = Math.max(...logits.map((logit, id) => Math.abs(logit - expected.logits[last][id])));
  assert.ok(worst < 2e-4, String(worst));
};
const wipe = (page) => page.evaluate(() => globalThis.lookback.deleteStoredWeights());

test('OPFS: kept, listed, read back, healed when a third is zeroed, deleted', async () => {
  const { page, wrong } = await open();
  await wipe(page);
  const first = await answerOf(page, 'tiny/tiny-F32.gguf');
  right(first);
  assert.equal(first.info.weights.stored, 'opfs');
  assert.equal(first.info.weights.sha256, hash(weights));
  const count = () => asked.filter((each) => each === 'GET /tiny/tiny-F32.gguf').length;
  const before = count();
  const second = await answerOf(page, 'tiny/tiny-F32.gguf');
  right(second);
  assert.equal(count(), before, 'asked again');
  assert.ok(second.phases.some(([phase]) => phase === 'read-from-cache'));
  const { files } = await page.evaluate(() => globalThis.lookback.storedWeights());
  assert.deepEqual(files, [
    { address: `${site.url}tiny/tiny-F32.gguf`, bytes: weights.length, sha256: hash(weights), complete: true },
  ]);

  await page.evaluate(async () => {
    const directory = await (await navigator.storage.getDirectory()).getDirectoryHandle('lookback');
    for await (const [name, handle] of directory.entries()) {
      if (!name.endsWith('.weights')) continue;
      const stream = await handle.createWritable({ keepExistingData: true });
      const { size } = await handle.getFile();
      await stream.write({ type: 'write', position: Math.floor(size / 3), data: new Uint8Array(Math.floor(size / 3)) });
      await stream.close();
    }
  });
  right(await answerOf(page, 'tiny/tiny-F32.gguf'));
  assert.equal(count(), before + 1, 'the spoiled copy was believed');
  right(await answerOf(page, 'tiny/tiny-F32.gguf'));
  assert.equal(count(), before + 1);
  assert.equal(await wipe(page), 1);
  assert.deepEqual((await page.evaluate(() => globalThis.lookback.storedWeights())).files, []);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('IndexedDB, where the file system cannot be written: kept, read back, deleted', async () => {
  const { page, wrong } = await open();
  await wipe(page);
  // Synchronous file handles exist in workers only.
  const first = await answerOf(page, 'tiny/tiny-Q8_0.gguf', { worker: false, threads: 1 });
  assert.equal(first.info.weights.stored, 'indexeddb');
  const gets = () => asked.filter((each) => each === 'GET /tiny/tiny-Q8_0.gguf').length;
  assert.equal(gets(), 1);
  const second = await answerOf(page, 'tiny/tiny-Q8_0.gguf', { worker: false, threads: 1 });
  assert.deepEqual(second.logits, first.logits);
  assert.equal(gets(), 1);
  assert.equal(await wipe(page), 1);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('two tabs at once: one downloads, both answer', async () => {
  const [one, two] = [await open(), await open()];
  await wipe(one.page);
  asked.length = 0;
  const answers = await Promise.all([one, two].map(({ page }) => answerOf(page, 'shards/manifest.json')));
  answers.forEach(right);
  assert.deepEqual(
    answers.map(({ info }) => info.weights.stored),
    ['opfs', 'opfs'],
  );
  for (let index = 0; index < 5; index++) {
    assert.equal(asked.filter((each) => each.endsWith(`tiny.gguf.00${index}`)).length, 1, `shard ${index}`);
  }
  assert.equal(answers[0].info.weights.verified, 'manifest');
  await wipe(one.page);
  await one.page.close();
  await two.page.close();
});

test('isolated: two threads under a strict policy give the answer of one; not isolated: one, with the reason', async () => {
  const { page, wrong } = await open();
  const threaded = await answerOf(page, 'tiny/tiny-F32.gguf', { threads: 2, cache: false });
  right(threaded);
  assert.equal(threaded.info.threads, 2);
  assert.deepEqual(wrong, []);
  await page.close();
  const plain = await startServer({
    root: folder,
    csp: CSP,
    isolation: false,
    mounts: { '/tiny': join(DATA, 'tiny') },
  });
  const other = await open(plain.url);
  const alone = await answerOf(other.page, 'tiny/tiny-F32.gguf', { threads: 2, cache: false });
  right(alone);
  assert.equal(alone.info.threads, 1);
  assert.match(alone.info.threadsReason, /not cross-origin isolated/);
  assert.equal(alone.info.weights.stored, 'none');
  await other.page.close();
  await plain.close();
});

test('an abort during the download, and one before it, reject as AbortError within 250 ms', async () => {
  const { page } = await open();
  const told = await page.evaluate(async () => {
    const controller = new AbortController();
    const loading = globalThis.lookback.loadModel('endless.gguf', {
      signal: controller.signal,
      cache: false,
      threads: 1,
    });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const started = performance.now();
    controller.abort();
    const error = await loading.catch((reason) => reason);
    const took = performance.now() - started;
    const early = await globalThis.lookback
      .loadModel('endless.gguf', { signal: AbortSignal.abort() })
      .catch((reason) => reason);
    return { name: error.name, code: error.code, took, early: early.name };
  });
  assert.deepEqual([told.name, told.code, told.early], ['AbortError', 'cancelled', 'AbortError']);
  assert.ok(told.took < 250, String(told.took));
  await page.close();
});

test('a worker that is ended: open calls reject, the next one loads again, and answers the same', async () => {
  const { page } = await open();
  await page.evaluate(async (ids) => {
    globalThis.model = await globalThis.lookback.loadModel('tiny/tiny-F32.gguf', { threads: 1 });
    globalThis.pass = await globalThis.model.forward(ids);
  }, expected.ids);
  const workers = page.workers();
  assert.equal(workers.length, 1);
  // An error that nobody catches ends a worker's use as surely as a crash does, and is what a page can see of one.
  await workers[0].evaluate(() =>
    setTimeout(() => {
      throw new Error('on purpose');
    }),
  );
  const told = await page.evaluate(async (ids) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const lost = await globalThis.pass.logits().catch((error) => error.code);
    const again = await globalThis.model.forward(ids);
    const logits = [...(await again.logits())];
    await globalThis.model.dispose();
    const ended = await globalThis.model.tokenize('a').catch((error) => error.code);
    return { lost, logits, ended };
  }, expected.ids);
  assert.deepEqual([told.lost, told.ended], ['disposed', 'disposed']);
  right(told);
  await page.close();
});

test('load and dispose twenty times: no worker and no memory is left', async () => {
  const { page } = await open();
  const sizes = [];
  for (let round = 0; round < 20; round++) {
    const size = await page.evaluate(async (ids) => {
      const model = await globalThis.lookback.loadModel('tiny/tiny-F32.gguf', { threads: 1 });
      const pass = await model.forward(ids);
      await pass.logits();
      const { memoryBytes } = model.info;
      await model.dispose();
      return memoryBytes;
    }, expected.ids);
    sizes.push(size);
  }
  assert.ok(Math.max(...sizes) <= sizes[0] * 1.1, sizes.join(' '));
  // The browser tells of ended workers a moment later.
  for (let wait = 0; page.workers().length > 0 && wait < 100; wait++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(page.workers().length, 0);
  await page.close();
});

test('a web page in the place of weights, and a file that is not there', async () => {
  const { page } = await open();
  const codes = await page.evaluate(async () => {
    const failed = async (source) =>
      globalThis.lookback.loadModel(source).catch(({ code, message }) => [code, message]);
    return [await failed('index.html'), await failed('nowhere.gguf'), await failed('tiny/tiny-onnx-named.onnx')];
  });
  assert.deepEqual(
    codes.map(([code]) => code),
    ['wrong_content', 'not_found', 'missing_config'],
  );
  assert.match(codes[1][1], /nowhere\.gguf: HTTP 404, a web page/);
  await page.close();
});
