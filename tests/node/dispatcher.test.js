// The dispatcher and client over a fake module: answers, errors, cancel, stale handles, traps.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LookbackError } from '../../web/engine/errors.js';
import { ENGINE_ERRORS, ERRORS, PROTOCOL_VERSION, VERBS } from '../../web/engine/protocol.js';
import { root } from './support/data.js';
import { FAKE } from './support/fake_module.js';
import { loadFake, openFake } from './support/fake_client.js';

const rejects = (promise, code, pattern = /./) =>
  assert.rejects(
    promise,
    (error) => error instanceof LookbackError && error.code === code && pattern.test(error.message),
  );
const prompt = { text: 'the library', keep: 'rows', off: [] };

test('the engine’s error words are those of result.h, in its order', () => {
  const header = readFileSync(`${root}/include/lookback/result.h`, 'utf8');
  const list = header.slice(header.indexOf('enum class ErrorCode {'), header.indexOf('};'));
  const words = [...list.matchAll(/^\s*k([A-Z]\w*),/gm)].map(([, name]) =>
    name.replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase(),
  );
  assert.ok(words.length > 10);
  assert.deepEqual(ENGINE_ERRORS, words);
});

test('the types name exactly the error words', () => {
  const types = readFileSync(`${root}/web/engine/index.d.ts`, 'utf8');
  const union = types.slice(types.indexOf('export type ErrorCode'));
  assert.deepEqual(
    [...union.matchAll(/\| '(\w+)'/g)].map(([, word]) => word),
    [...ERRORS],
  );
});

test('every code that the library throws is one of the words', () => {
  for (const name of [
    'arguments',
    'chat',
    'client',
    'dispatcher',
    'download',
    'files',
    'manifest',
    'model',
    'sampler',
    'session',
    'sniff',
    'source',
    'storage',
    'stored_file',
    'tokenizer',
    'tokenizer_data',
    'variants',
    'weights',
    'backend_node',
  ]) {
    const text = readFileSync(`${root}/web/engine/${name}.js`, 'utf8');
    for (const [, code] of text.matchAll(/new LookbackError\(\s*'(\w+)'/g))
      assert.ok(ERRORS.includes(code), `${name}: ${code}`);
  }
});

test('hello compares versions', async () => {
  const { client } = await openFake();
  assert.deepEqual(await client.request(VERBS.hello, {}), { version: PROTOCOL_VERSION });
  await client.hello();
});

test('a worker of another version is refused', async () => {
  const { client, port } = await openFake();
  port.post = ({ id }) => queueMicrotask(() => client.constructor && receive({ id, ok: true, value: { version: 99 } }));
  let receive;
  const { Client } = await import('../../web/engine/client.js');
  const other = new Client({ ...port, onMessage: (next) => (receive = next) });
  await rejects(other.hello(), 'protocol_mismatch', /99/);
});

test('an unknown verb is an error, also one that objects inherit', async () => {
  const { client } = await openFake();
  await rejects(client.request('fly', {}), 'unknown_verb', /fly/);
  await rejects(client.request('constructor', {}), 'unknown_verb');
});

test('nothing runs before a model is loaded', async () => {
  const { client } = await openFake();
  for (const verb of ['tokenize', 'forward', 'logits', 'openGeneration'])
    await rejects(client.request(verb, prompt), 'wrong_state');
});

test('load answers with what the engine says, and reports progress that ends at its total', async () => {
  const { client, posted } = await openFake();
  const info = await loadFake(client, { threads: 1 });
  assert.equal(info.layers, FAKE.layers);
  assert.equal(info.variant, 'fake');
  assert.equal(info.weights.bytes, 5000);
  assert.equal(info.weights.source, 'fake.gguf');
  assert.match(info.weights.sha256, /^[0-9a-f]{64}$/);
  assert.equal(info.threadsReason, 'one thread was asked for');
  const events = posted.filter(({ event }) => event === 'progress').map(({ value }) => value);
  for (const phase of ['read-from-cache', 'verify', 'prepare']) {
    const own = events.filter((event) => event.phase === phase);
    assert.ok(own.length > 0, phase);
    assert.equal(own.at(-1).loaded, own.at(-1).total, phase);
    own.forEach((event, index) => assert.ok(index === 0 || event.loaded >= own[index - 1].loaded));
  }
});

test('a wrong hash is refused and leaves no engine', async () => {
  const { client, counts } = await openFake();
  await rejects(loadFake(client, { sha256: 'ab'.repeat(32) }), 'hash_mismatch', /abab/);
  assert.equal(counts.engines, 0);
});

test('the engine’s errors come through with code and sentence', async () => {
  const { client, counts } = await openFake({ fake: { fails: { commit: ['bad_header', 'field x at byte 9'] } } });
  await rejects(loadFake(client), 'bad_header', /field x at byte 9/);
  assert.equal(counts.engines, 0);
});

test('passes are read by handle and end with it', async () => {
  const { client, counts } = await openFake();
  await loadFake(client);
  const { pass, tokens } = await client.request('forward', prompt);
  assert.ok(tokens.length > 3);
  const row = await client.request('row', { pass, layer: 0, head: 0, query: 2 });
  assert.equal(row.share.length, 3);
  assert.equal((await client.request('top', { pass, k: 3 })).length, 3);
  const heads = await client.request('heads', { pass });
  assert.equal(heads[0].induction, null);
  assert.equal(heads[1].entropy, 0.5);
  assert.deepEqual(
    heads.map(({ layer, head }) => [layer, head]),
    [
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ],
  );
  await client.request('disposePass', { pass });
  await client.request('disposePass', { pass });
  assert.equal(counts.livePasses, 0);
  await rejects(client.request('row', { pass, layer: 0, head: 0, query: 2 }), 'disposed');
});

test('arguments are checked before they reach the engine', async () => {
  const { client } = await openFake();
  await loadFake(client);
  await rejects(client.request('forward', { ...prompt, text: '' }), 'empty_prompt');
  await rejects(client.request('forward', { ids: [], keep: 'rows', off: [] }), 'empty_prompt');
  await rejects(client.request('forward', { ids: [300], keep: 'rows', off: [] }), 'bad_token', /299/);
  await rejects(client.request('forward', { ids: [1.5], keep: 'rows', off: [] }), 'bad_token');
  await rejects(
    client.request('forward', { ids: new Array(65).fill(5), keep: 'rows', off: [] }),
    'context_full',
    /65.*64/,
  );
  await rejects(client.request('forward', { ...prompt, keep: 'all' }), 'bad_argument');
  await rejects(client.request('forward', { ...prompt, off: [{ layer: 2, head: 0 }] }), 'bad_argument', /layer/);
  await rejects(
    client.request('forward', { ...prompt, off: [{ layer: 0, head: 0, query: 1, key: 2 }] }),
    'bad_argument',
    /later key/,
  );
  await rejects(client.request('openGeneration', { ...prompt, temperature: -1 }), 'bad_argument', /temperature/);
  await rejects(client.request('openGeneration', { ...prompt, topP: 0 }), 'bad_argument', /topP/);
  const { pass } = await client.request('forward', prompt);
  await rejects(client.request('row', { pass, layer: -1, head: 0, query: 0 }), 'bad_argument');
  await rejects(client.request('top', { pass, k: 0 }), 'bad_argument');
  await rejects(client.request('effects', { pass, tokenId: 300 }), 'bad_token');
});

test('an abort mid-pass answers at once, frees the pass, and the next answer equals a fresh one', async () => {
  const { client, counts } = await openFake({ fake: { stepMs: 20 } });
  await loadFake(client);
  const text = 'the library at the end of our street';
  const expected = await client.request('forward', { ...prompt, text });
  const before = await client.request('logits', { pass: expected.pass });
  await client.request('disposePass', { pass: expected.pass });
  const controller = new AbortController();
  const running = client.request('forward', { ...prompt, text }, { signal: controller.signal });
  await new Promise((resolve) => setTimeout(resolve, 60));
  const stepsAtAbort = counts.steps;
  const asked = performance.now();
  controller.abort();
  await assert.rejects(running, (error) => error.name === 'AbortError' && error.code === 'cancelled');
  assert.ok(performance.now() - asked < 50);
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.ok(counts.steps <= stepsAtAbort + 2, 'the engine went on stepping');
  assert.equal(counts.livePasses, 0);
  const again = await client.request('forward', { ...prompt, text });
  assert.deepEqual(await client.request('logits', { pass: again.pass }), before);
});

test('a signal already aborted asks nothing of the worker', async () => {
  const { client, posted } = await openFake();
  await assert.rejects(client.request('tokenize', { text: 'a' }, { signal: AbortSignal.abort() }), {
    name: 'AbortError',
  });
  assert.equal(posted.length, 0);
});

test('an abort that loses the race frees what the late answer holds', async () => {
  const { client, counts, posted } = await openFake({ answerMs: 30 });
  await loadFake(client);
  const controller = new AbortController();
  const answers = posted.length;
  const running = client.request('forward', prompt, {
    signal: controller.signal,
    onLate: ({ pass }) => client.send('disposePass', { pass }),
  });
  while (posted.length === answers) await new Promise((resolve) => setImmediate(resolve));
  controller.abort(); // the answer is under way
  await assert.rejects(running, { name: 'AbortError' });
  assert.equal(counts.livePasses, 1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(counts.livePasses, 0);
});

test('a pass shares what a living one has computed', async () => {
  const { client, counts } = await openFake();
  await loadFake(client);
  const ids = [10, 11, 12, 13, 14];
  const first = await client.request('forward', { ids, keep: 'rows', off: [] });
  const steps = counts.steps;
  const longer = await client.request('forward', { ids: [...ids, 15], keep: 'rows', off: [] });
  assert.equal(counts.steps - steps, 1);
  const shared = await client.request('logits', { pass: longer.pass });
  await client.request('disposePass', { pass: first.pass });
  await client.request('disposePass', { pass: longer.pass });
  const fresh = await client.request('forward', { ids: [...ids, 15], keep: 'rows', off: [] });
  assert.deepEqual(await client.request('logits', { pass: fresh.pass }), shared);
  // Other switches make other keys and values: nothing to share.
  const before = counts.steps;
  await client.request('forward', { ids: [...ids, 15], keep: 'rows', off: [{ layer: 0, head: 1 }] });
  assert.equal(counts.steps - before, 6);
});

test('generation ends by length and frees all but what the caller holds', async () => {
  const { client, counts } = await openFake();
  await loadFake(client);
  const { generation } = await client.request('openGeneration', { text: 'the library', maxTokens: 3 });
  const ids = [];
  let finish;
  for (;;) {
    const step = await client.request('nextToken', { generation });
    if (step.finish) {
      finish = step.finish;
      break;
    }
    ids.push(step.id);
    const top = await client.request('top', { pass: step.pass, k: 1 });
    assert.equal(top.length, 1);
    await client.request('disposePass', { pass: step.pass });
  }
  assert.equal(finish, 'length');
  assert.equal(ids.length, 3);
  assert.equal(counts.livePasses, 0);
  await rejects(client.request('nextToken', { generation }), 'disposed');
});

test('generation that reaches the context ends with length', async () => {
  const { client } = await openFake();
  await loadFake(client);
  const { generation } = await client.request('openGeneration', { ids: new Array(62).fill(9) });
  assert.ok((await client.request('nextToken', { generation })).pass);
  const second = await client.request('nextToken', { generation });
  const third = await client.request('nextToken', { generation });
  assert.equal(second.pass === undefined ? second.finish : third.finish, 'length');
});

test('effects come as events and the answer counts them', async () => {
  const { client, posted } = await openFake();
  await loadFake(client);
  const { pass } = await client.request('forward', prompt);
  assert.deepEqual(await client.request('effects', { pass, tokenId: 5 }), { done: 4, total: 4 });
  const rows = posted.filter(({ event }) => event === 'effects').flatMap(({ value }) => value.rows);
  assert.deepEqual(
    rows.map(({ layer, head }) => [layer, head]),
    [
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ],
  );
  assert.equal(rows[3].kl, 1.5);
});

test('a trap rejects everything that is open, and everything after it', async () => {
  const { client, posted } = await openFake({
    fake: { traps: (name, count) => name === 'step' && count > 3, stepMs: 5 },
  });
  await loadFake(client);
  const running = client.request('forward', prompt);
  const waiting = client.request('forward', { ...prompt, text: 'another one' });
  await rejects(running, 'fatal', /unreachable/);
  await rejects(waiting, 'fatal');
  await rejects(client.request('tokenize', { text: 'a' }), 'fatal');
  assert.equal(posted.filter(({ event }) => event === 'fatal').length, 1);
});

test('a worker that dies rejects everything that is open', async () => {
  const { client, port } = await openFake({ fake: { stepMs: 5 } });
  await loadFake(client);
  const running = client.request('forward', prompt);
  port.die('the worker is gone');
  await rejects(running, 'fatal', /the worker is gone/);
  await rejects(client.request('tokenize', { text: 'a' }), 'fatal');
});

test('dispose frees the engine and all passes; later requests say so', async () => {
  const { client, counts } = await openFake();
  await loadFake(client);
  const { pass } = await client.request('forward', prompt);
  await client.request('openGeneration', { text: 'the library' });
  await client.request('dispose', {});
  assert.deepEqual([counts.engines, counts.livePasses], [0, 0]);
  await rejects(client.request('row', { pass, layer: 0, head: 0, query: 0 }), 'disposed');
  await rejects(client.request('tokenize', { text: 'a' }), 'disposed');
});
