// The built package from outside: a fresh Node process, a worker thread, clean streams, an end by itself.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readReference, referencePath, root } from './support/data.js';

const reference = readReference('tiny/tiny-F32.expected.json');
const weights = JSON.stringify(referencePath('tiny/tiny-F32.gguf'));
let folder;

before(async () => {
  // As installed: by name, in a folder with a space, its dependencies beside it.
  folder = await mkdtemp(join(tmpdir(), 'look back '));
  await cp(join(root, 'dist/package'), join(folder, 'node_modules/lookback'), { recursive: true });
  for (const name of ['@huggingface', 'hash-wasm', 'idb', 'wasm-feature-detect']) {
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
});
after(() => rm(folder, { recursive: true, force: true }));

/** Runs a program in a fresh Node; it has to end by itself. */
async function node(source, flags = []) {
  const path = join(folder, `program-${Math.floor(performance.now() * 1000)}.mjs`);
  await writeFile(path, source);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, path], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120000,
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (part) => (out += part));
    child.stderr.on('data', (part) => (err += part));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code: signal ?? code, out, err }));
  });
}

const program = (options, before = '') => `
  import { loadModel, LookbackError, Model, Pass } from 'lookback';
  ${before}
  const model = await loadModel(${weights}, ${JSON.stringify(options)});
  const pass = await model.forward(${JSON.stringify(reference.ids)});
  const logits = await pass.logits();
  let best = 0;
  logits.forEach((logit, id) => { if (logit > logits[best]) best = id; });
  console.log(JSON.stringify({ best, first: logits[0], threads: model.info.threads, variant: model.info.variant, instance: model instanceof Model && pass instanceof Pass && LookbackError.prototype instanceof Error }));
  // Not disposed: an idle engine must not hold the process.
`;
const expect = ({ code, out, err }) => {
  assert.equal(err, '');
  assert.equal(code, 0);
  const answer = JSON.parse(out);
  const last = reference.ids.length - 1;
  assert.equal(answer.best, reference.argmax[last]);
  assert.ok(Math.abs(answer.first - reference.logits[last][0]) < 2e-4);
  assert.ok(answer.instance);
  return answer;
};

test('ESM import by name: the golden answer, nothing on stderr, and it ends', async () => {
  expect(await node(program({ threads: 1 })));
});

test('with worker: true, in a worker thread of its own', async () => {
  expect(await node(program({ threads: 1, worker: true })));
});

test('with two threads', async () => {
  assert.equal(expect(await node(program({ threads: 2 }))).threads, 2);
  assert.equal(expect(await node(program({ threads: 2, worker: true }))).threads, 2);
});

test('imported inside the caller’s own worker thread', async () => {
  const inner = program({ threads: 1 });
  expect(
    await node(
      `
    import { Worker } from 'node:worker_threads';
    const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent("import '" + new URL('./inner.mjs', import.meta.url).href + "'")));
    worker.on('error', (error) => { console.error(error); process.exit(1); });
  `.replace(
        './inner.mjs',
        await (async () => {
          await writeFile(join(folder, 'inner.mjs'), inner);
          return './inner.mjs';
        })(),
      ),
    ),
  );
});

test('relaxed SIMD where Node has it, by itself', async () => {
  const flags = process.versions.node.startsWith('20.') ? ['--experimental-wasm-relaxed-simd'] : [];
  assert.equal(expect(await node(program({ threads: 1 }), flags)).variant, 'relaxed');
});

test('offline: nothing but the weights is asked for', async () => {
  const guard = `globalThis.fetch = () => { throw new Error('a request left'); };`;
  expect(await node(program({ threads: 1 }, guard)));
});

test('a rejection is a LookbackError with a code, also from a worker', async () => {
  for (const worker of [false, true]) {
    const { code, out, err } = await node(`
      import { loadModel, LookbackError } from 'lookback';
      const error = await loadModel('/nowhere.gguf', { worker: ${worker} }).catch((reason) => reason);
      console.log(JSON.stringify([error instanceof LookbackError, error.code]));
    `);
    assert.deepEqual({ code, err }, { code: 0, err: '' });
    assert.deepEqual(JSON.parse(out), [true, 'not_found']);
  }
});

test('the types describe what is exported', async () => {
  await writeFile(
    join(folder, 'use.ts'),
    `
    import { loadModel, LookbackError, type Model, type Pass, type Token } from 'lookback';
    const model: Model = await loadModel(new Blob([]), { threads: 2, precision: 'fast', onProgress: ({ phase, loaded }) => void [phase, loaded] });
    const pass: Pass = await model.forward('a', { off: [{ layer: 0, head: 1 }, { layer: 0, head: 1, query: 3, key: 2 }] });
    const row: { share: Float32Array } = await pass.row(0, 0, 0);
    for await (const { id, text, pass: step } of model.generate([1, 2], { maxTokens: 3 })) { const n: number = id + text.length + step.length; void n; }
    for await (const { kl } of pass.effects(5)) { const value: number = kl; void value; }
    const tokens: Token[] = pass.tokens;
    const [k, n]: [number, number] = tokens[0].piece ?? [0, 1];
    void [row, k, n];
    // @ts-expect-error: no such precision
    await loadModel('x', { precision: 'half' });
    try { await model.chat([{ role: 'user', content: 'hi' }]); } catch (error) { if (error instanceof LookbackError && error.code === 'disposed') throw error; }
  `,
  );
  for (const [resolution, module] of [
    ['bundler', 'esnext'],
    ['node16', 'node16'],
  ]) {
    const args = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--target',
      'es2022',
      '--lib',
      'es2023,dom',
      '--moduleResolution',
      resolution,
      '--module',
      module,
      'use.ts',
    ];
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const { code, out } = await new Promise((resolve) => {
      const child = spawn(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...args], { cwd: folder });
      let text = '';
      child.stdout.on('data', (part) => (text += part));
      child.on('close', (status) => resolve({ code: status, out: text }));
    });
    assert.equal(code, 0, `${resolution}: ${out}`);
  }
});
