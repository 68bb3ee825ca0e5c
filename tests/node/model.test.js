// Model and Pass over a port that can die: disposal, one reload, stale handles, generation and effects as iterators.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDispatcher } from '../../web/engine/dispatcher.js';
import { createStreamingHash } from '../../web/engine/hash.js';
import { createLoader } from '../../web/engine/model.js';
import { normalizeWith } from '../../web/engine/source.js';
import { noStore } from '../../web/engine/storage.js';
import { fakeWeights, features } from './support/fake_client.js';
import { createFakeModule } from './support/fake_module.js';

/** A loader whose ports are kept, so that a test can end them. */
async function createFakeLoader(fake = {}) {
  const { module, counts } = await createFakeModule(fake);
  const ports = [];
  const loader = createLoader({
    normalizeSource: async (source) => normalizeWith(source, (url) => ({ kind: 'url', url })),
    keepStored: async () => {},
    openPort: async () => {
      let listener = () => {};
      const port = { closed: false, die: null };
      const dispatcher = createDispatcher({
        probe: async () => features,
        loadModule: async () => module,
        paths: null,
        openStorage: async () => noStore('none in tests'),
        createHash: createStreamingHash,
        post: (message) => queueMicrotask(() => !port.closed && listener(message)),
      });
      ports.push(port);
      return Object.assign(port, {
        post: (message) => dispatcher.receive(message),
        onMessage: (next) => (listener = next),
        onDeath: (next) => (port.die = next),
        close: () => {
          port.closed = true;
          dispatcher.close();
        },
      });
    },
  });
  return { ...loader, ports, counts };
}

test('dispose: twice is fine, everything after it is `disposed`, nothing is left', async () => {
  const { loadModel, counts, ports } = await createFakeLoader();
  const model = await loadModel(fakeWeights());
  const pass = await model.forward('the library');
  pass.dispose();
  pass.dispose();
  await assert.rejects(pass.logits(), { code: 'disposed' });
  const other = await model.forward('the library');
  await model.dispose();
  await model.dispose();
  other.dispose();
  await assert.rejects(other.logits(), { code: 'disposed' });
  for (const call of [
    () => model.tokenize('a'),
    () => model.forward('a'),
    () => model.chat([]),
    () => model.detokenize([1]),
    () => model.generate('a').next(),
  ]) {
    await assert.rejects(call(), { code: 'disposed', name: 'LookbackError' });
  }
  assert.deepEqual([counts.engines, counts.livePasses, ports[0].closed], [0, 0, true]);
});

test('a failed load leaves nothing open', async () => {
  const { loadModel, ports, counts } = await createFakeLoader({ fails: { open: ['bad_config', '3 heads over 2'] } });
  await assert.rejects(loadModel(fakeWeights()), { code: 'bad_config' });
  assert.deepEqual([ports[0].closed, counts.engines], [true, 0]);
});

test('a load with a signal already aborted, and one aborted meanwhile, reject as AbortError', async () => {
  const { loadModel, ports } = await createFakeLoader();
  await assert.rejects(loadModel(fakeWeights(), { signal: AbortSignal.abort() }), {
    name: 'AbortError',
    code: 'cancelled',
  });
  assert.equal(ports.length, 0);
  const controller = new AbortController();
  const loading = loadModel(fakeWeights(), { signal: controller.signal, onProgress: () => controller.abort() });
  await assert.rejects(loading, { name: 'AbortError' });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(ports[0].closed, true);
});

test('a dead worker: what was open rejects, the next call reloads once, old passes say they are gone', async () => {
  const { loadModel, ports, counts } = await createFakeLoader({ stepMs: 5 });
  const model = await loadModel(fakeWeights());
  const pass = await model.forward('the library');
  const open = [model.forward('another'), pass.top(3)].map((promise) => assert.rejects(promise, { code: 'fatal' }));
  ports[0].die('the worker is gone');
  await Promise.all(open);
  const [one, two] = await Promise.all([model.forward('the library'), model.tokenize('the')]);
  assert.equal(ports.length, 2, 'more than one reload');
  assert.ok(one.length > 0 && two.length > 0);
  await assert.rejects(pass.top(3), (error) => error.code === 'disposed' && /run forward again/.test(error.message));
  pass.dispose();
  // Later deaths, after it worked again, are healed the same way.
  ports[1].die('again');
  assert.ok((await model.tokenize('the')).length > 0);
  assert.equal(ports.length, 3);
  await model.dispose();
  assert.equal(counts.engines, 0);
});

test('an engine that traps right after its reload is not reloaded again', async () => {
  const { loadModel, ports } = await createFakeLoader({ traps: (name) => name === 'step' });
  const model = await loadModel(fakeWeights());
  await assert.rejects(model.forward('the'), { code: 'fatal' });
  await assert.rejects(model.forward('the'), { code: 'fatal' });
  assert.equal(ports.length, 2);
  await assert.rejects(model.forward('the'), { code: 'fatal' });
  assert.equal(ports.length, 2, 'reloads in a loop');
});

test('generate: passes end with their token, chunks join to the text, leaving the loop frees the rest', async () => {
  const { loadModel, counts } = await createFakeLoader();
  const model = await loadModel(fakeWeights());
  const prompt = await model.tokenize('the library');
  const ids = [];
  let text = '';
  const run = model.generate('the library', { maxTokens: 6, temperature: 1, seed: 4 });
  let step = await run.next();
  for (; !step.done; step = await run.next()) {
    const { id, pass } = step.value;
    ids.push(id);
    text += step.value.text;
    assert.equal(pass.length, prompt.length + ids.length);
    assert.equal(pass.tokens.at(-1).id, id);
    const joined = 'the library' + (await model.detokenize(ids));
    for (const token of pass.tokens) assert.equal(joined.slice(token.start, token.end), token.text);
    pass.dispose();
  }
  assert.ok(['length', 'stop'].includes(step.value));
  assert.equal(text, await model.detokenize(ids, { skipSpecial: true }));
  const again = [];
  for await (const { id, pass } of model.generate('the library', { maxTokens: 6, temperature: 1, seed: 4 })) {
    again.push(id);
    pass.dispose();
  }
  assert.deepEqual(again, ids);
  for await (const { pass } of model.generate('the library')) {
    pass.dispose();
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(counts.livePasses, 0);
});

test('generate stops at its signal, between tokens and inside a step', async () => {
  const { loadModel } = await createFakeLoader({ stepMs: 10 });
  const model = await loadModel(fakeWeights());
  await assert.rejects(model.generate('the', { signal: AbortSignal.abort() }).next(), { name: 'AbortError' });
  const controller = new AbortController();
  let count = 0;
  await assert.rejects(
    async () => {
      for await (const { pass } of model.generate('the', { signal: controller.signal })) {
        pass.dispose();
        if (++count === 3) controller.abort();
      }
    },
    { name: 'AbortError' },
  );
  assert.equal(count, 3);
  assert.ok((await model.tokenize('the')).length > 0);
});

test('effects: rows as they come, progress, and an early end', async () => {
  const { loadModel, counts } = await createFakeLoader();
  const model = await loadModel(fakeWeights());
  const pass = await model.forward('the library');
  const rows = [];
  const told = [];
  for await (const row of pass.effects(5, 1, { onProgress: (progress) => told.push(progress) })) rows.push(row);
  assert.equal(rows.length, 4);
  assert.deepEqual(told.at(-1), { done: 4, total: 4 });
  for await (const row of pass.effects(5)) {
    assert.equal(row.layer, 0);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(counts.deleted, 2, 'the engine’s effects were not freed');
  await assert.rejects(pass.effects(999).next(), { code: 'bad_token' });
  await assert.rejects(pass.effects(5, 1, { signal: AbortSignal.abort() }).next(), { name: 'AbortError' });
});

test('a source of the wrong kind is bad_argument', async () => {
  const { loadModel } = await createFakeLoader();
  for (const source of [null, undefined, 5, '', {}, { weights: 7 }, []])
    await assert.rejects(loadModel(source), { code: 'bad_argument' });
});
