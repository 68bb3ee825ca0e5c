// Which living pass a new one begins from.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bestStart, firstDifference } from '../../web/engine/reuse.js';

const LAYERS = 30;
const pass = (ids, off = [], keep = 'rows') => ({ ids: Int32Array.from(ids), off: Int32Array.from(off.flat()), keep });
const head = (layer, index) => [layer, index, -1, -1];
const begin = (wanted, entries) => {
  const best = bestStart(wanted, entries, LAYERS);
  return best && [entries.indexOf(best.entry), best.how, best.length];
};

test('the first layer that differs, whatever the order', () => {
  const difference = (a, b) => firstDifference(Int32Array.from(a.flat()), Int32Array.from(b.flat()), LAYERS);
  assert.equal(difference([], []), LAYERS);
  assert.equal(difference([head(3, 1), head(2, 0)], [head(2, 0), head(3, 1), head(3, 1)]), LAYERS);
  assert.equal(difference([head(17, 4)], []), 17);
  assert.equal(difference([head(17, 4), head(20, 0)], [head(17, 4), head(12, 3)]), 12);
  assert.equal(difference([[9, 1, 5, 2]], [[9, 1, 5, 3]]), 9);
  assert.equal(difference([[9, 1, 5, 2]], [head(9, 1)]), 9);
});

test('the same switches: the longest common prefix, of which the last token is run', () => {
  const entries = [pass([1, 2, 9]), pass([1, 2, 3, 4, 5]), pass([7])];
  assert.deepEqual(begin(pass([1, 2, 3, 8]), entries), [1, 'prefix', 3]);
  assert.deepEqual(begin(pass([1, 2, 3, 4]), entries), [1, 'prefix', 3]);
  assert.equal(begin(pass([5, 5]), entries), null);
  assert.equal(begin(pass([1]), entries), null);
});

test('other switches: all tokens above the layer where something else is off', () => {
  const entries = [pass([1, 2, 3]), pass([1, 2, 3], [head(10, 0)])];
  assert.deepEqual(begin(pass([1, 2, 3], [head(17, 4)]), entries), [0, 'switched', 3]);
  assert.deepEqual(begin(pass([1, 2, 3], [head(10, 0), head(20, 1)]), entries), [1, 'switched', 3]);
  assert.deepEqual(begin(pass([1, 2], [head(17, 4)]), entries), [0, 'switched', 2]);
  assert.equal(begin(pass([1, 2, 3, 4], [head(17, 4)]), entries), null);
  assert.equal(begin(pass([1, 2, 3], [head(0, 0)]), entries.slice(0, 1)), null);
});

test('the cheaper of a prefix and a switch', () => {
  const entries = [pass([1, 2, 3, 4, 5, 6]), pass([1, 9, 9, 9, 9, 9], [head(2, 0)])];
  assert.deepEqual(begin(pass([1, 2, 3, 4, 5, 6], [head(2, 0)]), entries), [1, 'prefix', 1]);
  assert.deepEqual(begin(pass([1, 2, 3, 4, 5, 6], [head(2, 0)]), entries.slice(0, 1)), [0, 'switched', 6]);
});

test('passes that keep other things are of no use', () => {
  assert.equal(begin(pass([1, 2, 3]), [pass([1, 2, 3], [], 'none')]), null);
  assert.equal(begin(pass([1, 2, 3], [head(9, 0)], 'none'), [pass([1, 2, 3], [], 'none')]), null);
});
