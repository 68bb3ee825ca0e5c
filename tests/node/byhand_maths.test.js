/** The by-hand page's pure functions against tests/data/reference/toy_figures.json, and against plain re-implementations where that file is silent. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { attention, causalMask, mix, softLookup } from '../../web/byhand/maths/attention.js';
import { contextFloor } from '../../web/byhand/maths/context_floor.js';
import {
  attentionShapes,
  cacheFloats,
  GPT2_SMALL,
  pairs,
  parameters,
  SMOLLM2_135M,
} from '../../web/byhand/maths/counts.js';
import { add, cosine, matmul, maxDifference, softmax, transpose } from '../../web/byhand/maths/linear.js';
import { normal, uniform } from '../../web/byhand/maths/random.js';
import {
  dotSpread,
  finish,
  KEYS,
  PAIRS,
  QUERIES,
  spreadError,
  spreadTheory,
  topWeight,
} from '../../web/byhand/maths/spread.js';
import * as toy from '../../web/byhand/toy_data.js';

const figures = JSON.parse(readFileSync(new URL('../data/reference/toy_figures.json', import.meta.url), 'utf8'));
const reference = figures.toy_attention;
const HEAD = { WQ: toy.WQ, WK: toy.WK, WV: toy.WV };

/** Half a unit of the file's ninth significant digit, and what the toy vectors' 12 digits leave open. */
const close = (actual, expected, what = '') => {
  const tolerance = (expected === 0 ? 0 : 0.5 * 10 ** (Math.floor(Math.log10(Math.abs(expected))) - 8)) + 1e-9;
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected}`);
};
const allClose = (actual, expected, what) => {
  assert.deepEqual([actual].flat(3).length, [expected].flat(3).length, `${what}: another number of numbers`);
  [actual].flat(3).forEach((x, i) => close(x, [expected].flat(3)[i], `${what}[${i}]`));
};
const embed = (sentence) => sentence.split(' ').map((word) => toy.EMBEDDING[toy.VOCAB.indexOf(word)]);
const reversed = (rows) => [...rows].reverse();

test('toy_data.js is what its maker writes', () => {
  const maker = new URL('../../web/byhand/make_toy_data.mjs', import.meta.url);
  const printed = execFileSync(process.execPath, [maker.pathname, '--print'], { encoding: 'utf8' });
  assert.equal(readFileSync(new URL('../../web/byhand/toy_data.js', import.meta.url), 'utf8'), printed);
  assert.deepEqual(toy.EMBEDDING, reference.E);
  assert.deepEqual([toy.WQ, toy.WK, toy.WV, toy.POSITIONS], [reference.WQ, reference.WK, reference.WV, reference.pos]);
});

test('soft lookup: scores, weights, output; divided by √2; one score pushed to 20', () => {
  const expected = figures.soft_lookup;
  const { scores, weights, output } = softLookup(toy.LOOKUP_QUERY, toy.LOOKUP_KEYS, toy.LOOKUP_VALUES);
  assert.deepEqual(scores, expected.scores);
  allClose(weights, expected.weights, 'weights');
  allClose(output, expected.output, 'output');
  allClose(
    softLookup(toy.LOOKUP_QUERY, toy.LOOKUP_KEYS, toy.LOOKUP_VALUES, Math.sqrt(2)).weights,
    expected.scaled_by_sqrt2_weights,
    'divided',
  );
  allClose(softmax([2, 1, 0]), expected.softmax_2_1_0, 'softmax(2, 1, 0)');
  const pushed = softmax([scores[0], 20, scores[2]]);
  pushed.forEach((w, i) =>
    assert.ok(Math.abs(w / expected.scores_cat_20[i] - 1) < 1e-10, `${w}, expected ${expected.scores_cat_20[i]}`),
  );
  mix(pushed, toy.LOOKUP_VALUES).forEach((x, i) => assert.ok(Math.abs(x / expected.output_cat_20[i] - 1) < 1e-10));
});

test('softmax: steep at 10, gentle at 1; −∞ is exactly 0; large scores do not overflow', () => {
  for (const top of ['10', '10.1', '1', '1.1'])
    allClose(softmax([Number(top), 0, 0]), figures.saturation[`softmax_${top}_0_0`], top);
  assert.deepEqual(softmax([0, -Infinity]), [1, 0]);
  assert.deepEqual(softmax([2000, 2000, -2000]), [0.5, 0.5, 0]);
});

test('causal mask', () => {
  const expected = figures.causal_mask_4.M.map((row) => row.map((x) => (x === null ? -Infinity : x)));
  assert.deepEqual(causalMask(4), expected);
});

test('toy attention: pattern and output of the article sentences, a prefix keeps its rows only under the mask', () => {
  for (const [sentence, key] of [
    ['the cat sat', 'the_cat_sat'],
    ['the cat sat on the', 'the_cat_sat_on_the'],
  ]) {
    const { pattern, output } = attention(embed(sentence), HEAD, { masked: true });
    allClose(pattern, reference[`A_${key}`], sentence);
    allClose(output, reference[`out_${key}`], sentence);
    pattern.forEach((row) =>
      close(
        row.reduce((a, b) => a + b, 0),
        1,
        'row sum',
      ),
    );
  }
  const short = (masked) => attention(embed('the cat sat'), HEAD, { masked }).output;
  const long = (masked) => attention(embed('the cat sat on the'), HEAD, { masked }).output.slice(0, 3);
  assert.ok(maxDifference(short(true), long(true)) < 1e-15);
  assert.ok(maxDifference(short(false), long(false)) > 0.1);
});

test('likeness: cosine of cat and dog; scores of own vectors are symmetric, of projected ones not', () => {
  close(cosine(...embed('cat dog')), reference.cosine_cat_dog, 'cosine');
  const x = embed('the cat saw the dog');
  const own = matmul(x, transpose(x));
  assert.deepEqual(own, transpose(own));
  const { scores } = attention(x, HEAD, { masked: false });
  assert.ok(maxDifference(scores, transpose(scores)) > 0.1);
});

test('order: without positions a reversed sentence gives the same outputs; positions and the mask change that', () => {
  const x = embed('the cat saw the dog');
  const plain = (rows, masked = false) => attention(rows, HEAD, { masked }).output;
  assert.equal(maxDifference(reversed(plain(x)), plain(reversed(x))) < 1e-12, reference.unmasked_reversal_equal);
  const placed = maxDifference(reversed(plain(add(x, toy.POSITIONS))), plain(add(reversed(x), toy.POSITIONS)));
  assert.equal(placed < 1e-12, reference.with_positions_reversal_equal);
  close(placed, reference.with_positions_max_diff, 'with positions');
  const swapped = embed('the dog saw the cat');
  const saw = (masked) => maxDifference([plain(x, masked)[2]], [plain(swapped, masked)[2]]);
  assert.equal(saw(false) < 1e-12, reference.unmasked_saw_equal);
  assert.equal(saw(true) < 1e-12, reference.masked_saw_equal);
  close(saw(true), reference.masked_saw_max_diff, 'masked saw');
});

test('the text that the toy vectors come from: words and neighbours', () => {
  const words = toy.TEXT.split(' ');
  assert.equal(words.length, reference.word_count);
  assert.deepEqual([...new Set(words)].sort(), reference.vocab);
});

test('GPT-2 small and SmolLM2-135M: shapes, parameters, scores', () => {
  const expected = figures.gpt2_small;
  const shapes = attentionShapes(GPT2_SMALL, 5);
  assert.deepEqual(
    [shapes.Q, shapes.S, shapes.AV, shapes.joined, shapes.out],
    [expected.Q, expected.S, expected.AV, expected.joined, expected.out],
  );
  assert.deepEqual(
    [GPT2_SMALL.width, GPT2_SMALL.heads, GPT2_SMALL.headDim, GPT2_SMALL.maxTokens],
    [expected.d_model, expected.heads, expected.d_k, expected.n_max],
  );
  const counted = parameters(GPT2_SMALL);
  assert.equal(counted.attention, expected.params_4_matrices);
  assert.equal(counted.attention + counted.attentionBiases, expected.params_with_biases);
  assert.equal(counted.positions, expected.position_table);
  // The released checkpoint holds 124,439,808 numbers.
  assert.equal(counted.total, 124439808);
  assert.equal(pairs(5).full, expected.scores_n5);
  assert.equal(pairs(5).full * GPT2_SMALL.heads, expected.scores_n5_layer);
  assert.equal(pairs(1024).full, expected.scores_n1024);
  assert.equal(pairs(1024).full * GPT2_SMALL.heads, expected.scores_n1024_layer);

  const small = figures.smollm2_135m_counts;
  const smol = parameters(SMOLLM2_135M);
  assert.equal(smol.attention, small.attention_params_per_layer);
  assert.equal(smol.mlp, small.mlp_params_per_layer);
  assert.equal(smol.embedding, small.embedding);
  assert.equal(smol.total, small.total);
  assert.equal(cacheFloats(SMOLLM2_135M), small.kv_cache_floats_per_token);
  assert.deepEqual(attentionShapes(SMOLLM2_135M, 7).K, [3, 7, 64]);
});

test('pairs of tokens, full grid and causal', () => {
  for (const { n, full_grid: full, causal } of figures.pairs) assert.deepEqual(pairs(n), { full, causal });
});

test('context floor: the article text, and a text small enough to do by hand', () => {
  assert.equal(Array.from(toy.TEXT).length, figures.context_floor.text_length);
  for (const { k, floor_nats: nats, contexts, predictions } of figures.context_floor.rows) {
    const row = contextFloor(toy.TEXT, k);
    close(row.floor, nats, `k = ${k}`);
    assert.deepEqual([row.contexts, row.predictions], [contexts, predictions]);
  }
  // "abac": b, a, c follow. After a: b once, c once, one bit each; after b: always a.
  assert.deepEqual(contextFloor('abac', 1), { floor: (2 * Math.log(2)) / 3, contexts: 2, predictions: 3 });
  // A character outside the basic plane is one character.
  assert.equal(contextFloor('😀😀😀', 1).predictions, 2);
});

test('the generator: same seed same draws, other seed others; uniform and normal by moments and by the share inside one spread', () => {
  const take = (make, seed, n) => Array.from({ length: n }, make(seed));
  assert.deepEqual(take(normal, 7, 50), take(normal, 7, 50));
  assert.notDeepEqual(take(normal, 7, 50), take(normal, 8, 50));
  const n = 100000;
  const flat = take(uniform, 1, n);
  assert.ok(flat.every((x) => x >= 0 && x < 1));
  const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
  assert.ok(Math.abs(mean(flat) - 0.5) < 3 / Math.sqrt(12 * n));
  const bell = take(normal, 1, n);
  assert.ok(Math.abs(mean(bell)) < 3 / Math.sqrt(n));
  assert.ok(Math.abs(mean(bell.map((x) => x * x)) - 1) < 3 * Math.sqrt(2 / n));
  assert.ok(Math.abs(mean(bell.map((x) => x ** 4)) - 3) < 3 * Math.sqrt(96 / n));
  const inside = 0.682689492137;
  assert.ok(
    Math.abs(mean(bell.map((x) => (Math.abs(x) < 1 ? 1 : 0))) - inside) < 3 * Math.sqrt((inside * (1 - inside)) / n),
  );
  // Neighbouring draws, of which the polar method makes two at a time, are not related.
  assert.ok(Math.abs(mean(bell.slice(1).map((x, i) => x * bell[i]))) < 3 / Math.sqrt(n));
});

test('spread of q·k: live draws within three standard errors of √d, as the article numbers are', () => {
  for (const width of [1, 4, 16, 64]) {
    const { std, standardError } = finish(dotSpread({ width, pairs: PAIRS, seed: 1 }));
    assert.equal(standardError, spreadError(width, PAIRS));
    assert.ok(Math.abs(std - spreadTheory(width)) < 3 * standardError, `width ${width}: ${std}`);
  }
  figures.sqrt_dk.spread.forEach(({ d_k: width, std, sqrt }, i) => {
    assert.deepEqual(toy.NUMPY_DRAWS.spread[i], { width, std });
    assert.equal(spreadTheory(width), sqrt);
    assert.ok(Math.abs(std - sqrt) < 3 * spreadError(width, PAIRS));
  });
});

test('standard error of the spread: what repeated experiments show', () => {
  const runs = Array.from({ length: 60 }, (_, seed) => finish(dotSpread({ width: 4, pairs: 400, seed })).std);
  const mean = runs.reduce((a, b) => a + b, 0) / runs.length;
  const seen = Math.sqrt(runs.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (runs.length - 1));
  // Sixty runs know their own spread to about a tenth.
  assert.ok(Math.abs(seen / spreadError(4, 400) - 1) < 0.3, `${seen} against ${spreadError(4, 400)}`);
});

/**
 * The exact mean of the largest softmax weight, by quadrature. Given the query's length r, the scores are independent normals of spread σ = r (or r/√d), and
 * E[1/(1+D)] = ∫ e^(−t) E[e^(−tD)] dt for the sum D of the other terms; the outer average is over r² ~ χ²(d).
 */
function exactTopWeight(width, keys, scaled) {
  const bell = (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
  const grid = (from, to, n) => Array.from({ length: n }, (_, i) => from + ((i + 0.5) * (to - from)) / n);
  const given = (sigma) => {
    let total = 0;
    for (const top of grid(-2, 5, 60)) {
      const below = grid(-6, top, 60).map((z) => [bell(z) * ((top + 6) / 60), Math.exp(sigma * (z - top))]);
      // t = u/(1 − u) maps the half line to 0…1.
      let inner = 0;
      for (const u of grid(0, 1, 80)) {
        const t = u / (1 - u);
        const g = below.reduce((sum, [p, d]) => sum + p * Math.exp(-t * d), 0);
        inner += (Math.exp(-t) * g ** (keys - 1)) / (1 - u) ** 2 / 80;
      }
      total += keys * bell(top) * inner * (7 / 60);
    }
    return total;
  };
  let weight = 0;
  let mean = 0;
  const reach = 4 / Math.sqrt(2);
  for (const r of grid(Math.max(0.01, Math.sqrt(width) - reach), Math.sqrt(width) + reach, 16)) {
    const p = Math.exp((width - 1) * Math.log(r / Math.sqrt(width)) - (r * r - width) / 2);
    weight += p;
    mean += p * given(scaled ? r / Math.sqrt(width) : r);
  }
  return mean / weight;
}

test('largest weight of a softmax over 16 keys: live draws and the article numbers within three standard errors of the exact mean', () => {
  for (const width of [4, 64]) {
    const live = finish(topWeight({ width, queries: QUERIES, keys: KEYS, seed: 1 }));
    for (const kind of ['plain', 'scaled']) {
      const exact = exactTopWeight(width, KEYS, kind === 'scaled');
      const { mean, standardError } = live[kind];
      assert.ok(standardError > 0 && standardError < 0.01);
      assert.ok(
        Math.abs(mean - exact) < 3 * standardError,
        `width ${width}, ${kind}: ${mean}, exact ${exact}, standard error ${standardError}`,
      );
      if (width === 64)
        assert.ok(Math.abs(toy.NUMPY_DRAWS.topWeight[kind] - exact) < 3 * standardError, `${kind}: exact ${exact}`);
    }
  }
  assert.equal(toy.NUMPY_DRAWS.topWeight.plain, figures.sqrt_dk.mean_top_weight);
  assert.equal(toy.NUMPY_DRAWS.topWeight.scaled, figures.sqrt_dk.mean_top_weight_scaled);
});
