import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createStore } from '../../web/app/store.js';
import { keepFresh } from '../../web/app/resources.js';
import { StoredPass, packFloats, unpackFloats, makeStoredRun } from '../../web/app/stored_run.js';
import { namedSources, sourceFromLink, fileSource } from '../../web/app/sources.js';
import { repeatedPositions, strongestBy } from '../../web/app/measure_copying.js';
import { scores, bytesPerToken } from '../../web/app/measure_price.js';
import { fittingOff, query } from '../../web/app/selectors.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Answers are gathered for a few milliseconds. */
const rest = () => new Promise((resolve) => setTimeout(resolve, 25));

test('changes of one task are told once, together', async () => {
  const store = createStore({ a: 1, b: 2 });
  const told = [];
  store.subscribe((s, before) => told.push([s, before]));
  store.set({ a: 2 });
  store.set({ b: 3 });
  store.set({ b: 3 });
  await turn();
  assert.deepEqual(told, [
    [
      { a: 2, b: 3 },
      { a: 1, b: 2 },
    ],
  ]);
});

/** A pass whose rows are answered by hand. */
function slowPass() {
  const asked = [];
  const never = () => new Promise(() => {});
  const pass = {
    asked,
    row: (layer, head, q) => new Promise((resolve, reject) => asked.push({ layer, head, q, resolve, reject })),
  };
  for (const verb of ['pattern', 'average', 'look', 'heads', 'top', 'logits', 'written', 'products'])
    pass[verb] = never;
  return pass;
}
const view = (patch) => ({
  run: { id: 1, tokens: [{}, {}, {}], shape: { layers: 2, heads: 2 }, off: [], stored: false },
  clean: null,
  layer: 0,
  head: 0,
  token: 2,
  hover: null,
  previewHead: null,
  off: [],
  target: null,
  shade: 'word',
  open: null,
  panels: {},
  data: {},
  ...patch,
});

test('an answer for a head that is no longer asked for is dropped; only the last of many is asked next', async () => {
  const pass = slowPass();
  const store = createStore(view({}));
  keepFresh(store, () => ({ pass, clean: pass })).refresh();
  for (const head of [1, 0, 1]) {
    store.set({ head });
    await turn();
  }
  assert.equal(pass.asked.length, 1, 'one request is under way, the rest wait');
  pass.asked[0].resolve({ share: Float32Array.of(1) });
  await rest();
  assert.equal(store.state.data.row, undefined, 'the late answer of head 0 does not land on head 1');
  assert.deepEqual([pass.asked[1].head, pass.asked.length], [1, 2]);
  pass.asked[1].resolve({ share: Float32Array.of(0.5) });
  await rest();
  assert.equal(store.state.data.row.head, 1);
  store.set({ head: 0 });
  await turn();
  assert.equal(store.state.data.row.head, 0, 'the dropped answer was kept for coming back to it');
  assert.equal(pass.asked.length, 2);
});

test('a pass that was let go of is no failure; any other is said', async () => {
  for (const [code, problem] of [
    ['disposed', undefined],
    ['out_of_memory', 'no room'],
  ]) {
    const pass = slowPass();
    const store = createStore(view({}));
    keepFresh(store, () => ({ pass, clean: pass })).refresh();
    pass.asked[0].reject(Object.assign(new Error('no room'), { code }));
    await rest();
    assert.equal(store.state.problem, problem);
  }
});

test('a stored run gives what the pass gave', async () => {
  const rowOf = (layer, head, q) =>
    Float32Array.from({ length: q + 1 }, (_, k) => Math.sin(layer * 31 + head * 7 + q * 3 + k) * 4);
  const softmax = (scaled) => {
    const e = Array.from(scaled, (v) => Math.exp(v));
    const sum = e.reduce((a, b) => a + b);
    return Float32Array.from(e, (v) => v / sum);
  };
  const pass = {
    length: 3,
    tokens: [0, 1, 2].map((id) => ({
      id,
      text: `t${id}`,
      start: id,
      end: id + 1,
      special: false,
      bytes: new Uint8Array(1),
    })),
    row: async (l, h, q) => ({ scaled: rowOf(l, h, q) }),
    top: async (k, p) => [{ id: p, text: 'x', logit: 1, probability: 0.5 }],
    heads: async () => [{ layer: 0, head: 0, induction: null }],
    dispose() {},
  };
  const model = {
    info: {
      layers: 2,
      heads: 3,
      headDim: 64,
      vocab: 10,
      precision: 'exact',
      weights: { source: 'https://x/y/z.gguf', sha256: 'ab' },
    },
    forward: async () => pass,
  };
  const json = JSON.parse(JSON.stringify(await makeStoredRun(model, 'abc', { name: 'abc' })));
  assert.equal(json.weights.name, 'z.gguf');
  const stored = new StoredPass(json);
  for (let l = 0; l < 2; l++) {
    for (let h = 0; h < 3; h++) {
      const pattern = await stored.pattern(l, h);
      for (let q = 0; q < 3; q++) {
        const row = await stored.row(l, h, q);
        assert.deepEqual(row.scaled, rowOf(l, h, q));
        assert.deepEqual(
          row.qk,
          rowOf(l, h, q).map((v) => v * 8),
        );
        softmax(rowOf(l, h, q)).forEach((v, k) => {
          assert.ok(Math.abs(v - row.share[k]) < 1e-7);
          assert.equal(pattern[q * 3 + k], row.share[k]);
        });
      }
    }
  }
  const look = await stored.look(2);
  assert.equal(look[(1 * 3 + 2) * 3 + 1], (await stored.row(1, 2, 2)).share[1]);
  const seen = await stored.lookedAtBy(1);
  assert.equal(seen[(1 * 3 + 2) * 3 + 2], look[(1 * 3 + 2) * 3 + 1]);
  assert.deepEqual(await stored.top(5, 2), [{ id: 2, text: 'x', logit: 1, probability: 0.5 }]);
  await assert.rejects(stored.logits(), { code: 'stored_run' });
});

test('floats survive base64', () => {
  const floats = Float32Array.of(0, -0, 1.5, -3.4e38, 1e-40, NaN, Infinity);
  assert.deepEqual(unpackFloats(packFloats(floats)), floats);
});

test('a link cannot make the page ask another host by itself', () => {
  const page = 'https://site.example/app/';
  assert.equal(sourceFromLink(undefined, page).source.address, 'https://site.example/app/models/manifest.json');
  const foreign = sourceFromLink('https://evil.example/w.gguf', page);
  assert.equal(foreign.source.id, 'instruct');
  assert.equal(foreign.ask.address, 'https://evil.example/w.gguf');
  assert.equal(sourceFromLink('base', page).ask.id, 'base');
  assert.equal(sourceFromLink('models/tiny.gguf', page).source.address, 'https://site.example/app/models/tiny.gguf');
  assert.equal(sourceFromLink('file:mine.gguf', page).lost, 'mine.gguf');
  assert.equal(sourceFromLink('http://', page).lost, 'http://');
  assert.ok(namedSources(page).length >= 2);
});

test('picked files find their roles', () => {
  const file = (name) => ({ name });
  const [w, c, t, e] = ['model.onnx', 'config.json', 'tokenizer.json', 'model.onnx_data'].map(file);
  assert.deepEqual(fileSource([c, e, w, t]).source, {
    weights: w,
    config: c,
    tokenizer: t,
    external: { 'model.onnx_data': e },
  });
  assert.equal(fileSource([w]).source, w);
  assert.equal(fileSource([c, t]), null);
});

test("the second list of the article's prompt, by repeats", () => {
  const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 3, 4, 5, 6, 7, 8, 9, 10].map((id) => ({ id }));
  assert.deepEqual(repeatedPositions(ids), { first: [2, 3, 4, 5, 6, 7, 8], second: [11, 12, 13, 14, 15, 16, 17] });
  assert.deepEqual(
    strongestBy(
      [
        { layer: 0, head: 0, induction: null },
        { layer: 0, head: 1, induction: 0.3 },
        { layer: 0, head: 2, induction: 0.9 },
      ],
      'induction',
      2,
    ).map((x) => x.head),
    [2, 1],
  );
});

test('the price', () => {
  assert.equal(scores(1000), 500500);
  assert.deepEqual(bytesPerToken({ layers: 30, heads: 9, kvHeads: 3, headDim: 64 }), { kv: 46080, queries: 69120 });
});

test('switches that do not fit text or model are left out', () => {
  const off = [
    { layer: 0, head: 0 },
    { layer: 9, head: 0 },
    { layer: 0, head: 1, query: 0, key: 0 },
    { layer: 0, head: 1, query: 5, key: 1 },
    { layer: 0, head: 1, query: 2, key: 1 },
  ];
  assert.deepEqual(fittingOff(off, { layers: 3, heads: 2 }, 4), [off[0], off[4]]);
});

test('a pin past the end of a shortened text shows the last word and waits', () => {
  assert.equal(query(view({ token: 9 })), 2);
  assert.equal(query(view({ token: 0 })), 0);
  assert.equal(query(view({ token: null })), 2);
  assert.equal(query(view({ token: 2, hover: 0 })), 0);
});
