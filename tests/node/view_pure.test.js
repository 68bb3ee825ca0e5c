import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { wordGroups, groupPattern, groupOf } from '../../web/view/word_groups.js';
import { rowWindow, cellAt, walkGrid, walkList } from '../../web/view/layout.js';
import { shareStep, signedStep, shareColor, inkOnShare, rampBytes, luminance } from '../../web/view/color_scale.js';
import { strongest, rankOf, order, standing, bestLayers, repeats } from '../../web/view/ranking.js';

const words = (tokens) =>
  wordGroups(tokens).map((g) =>
    tokens
      .slice(g.start, g.end)
      .map((t) => t.text)
      .join(''),
  );
const t = (...texts) => texts.map((text) => ({ text }));

test('tokens of one word are grouped, words and marks are not', () => {
  assert.deepEqual(words(t('The', ' tro', 'phy', ' didn', "'t", ' fit', '.', '\n', 'It')), [
    'The',
    ' trophy',
    " didn't",
    ' fit',
    '.',
    '\n',
    'It',
  ]);
  assert.deepEqual(words(t('2', '0', '2', '4', ' ', ' x')), ['2024', ' ', ' x']);
  assert.deepEqual(words(t('東', '京', 'a')), ['東', '京', 'a']);
  const pieces = [
    { text: '略', piece: [0, 3] },
    { text: '略', piece: [1, 3] },
    { text: '略', piece: [2, 3] },
    { text: '略' },
  ];
  assert.deepEqual(wordGroups(pieces), [
    { start: 0, end: 3 },
    { start: 3, end: 4 },
  ]);
  assert.equal(
    groupOf(
      [
        { start: 0, end: 2 },
        { start: 2, end: 5 },
      ],
      2,
    ),
    1,
  );
});

test('grouped shares: to a word they add, from a word they average; a row still sums to 1', () => {
  const pattern = [1, 0, 0, 0.25, 0.75, 0, 0.5, 0.25, 0.25];
  const grouped = groupPattern(pattern, 3, [
    { start: 0, end: 1 },
    { start: 1, end: 3 },
  ]);
  assert.deepEqual([...grouped], [1, 0, 0.375, 0.625]);
});

test('a window of rows leaves out exactly what it does not draw', () => {
  for (const openIndex of [-1, 0, 40, 99]) {
    for (let scrollTop = 0; scrollTop <= 3200; scrollTop += 137) {
      const w = rowWindow({ count: 100, rowHeight: 30, scrollTop, viewHeight: 300, openIndex, openHeight: 200 });
      const drawn = (w.end - w.first) * 30 + (openIndex >= w.first && openIndex < w.end ? 200 : 0);
      assert.equal(w.before + drawn + w.after, 100 * 30 + (openIndex >= 0 ? 200 : 0));
      assert.ok(w.before <= scrollTop || w.first === 0);
      assert.ok(w.before + drawn >= Math.min(scrollTop + 300, w.before + drawn + w.after));
      assert.ok(w.end - w.first < 60);
    }
  }
});

test('cells and keys', () => {
  assert.deepEqual(cellAt(0, 99.9, 100, 10), { row: 9, column: 0 });
  assert.equal(cellAt(100, 5, 100, 10), null);
  assert.deepEqual(walkGrid('ArrowUp', { row: 0, column: 3 }, 30, 9), { row: 0, column: 3 });
  assert.deepEqual(walkGrid('End', { row: 2, column: 3 }, 30, 9), { row: 2, column: 8 });
  assert.equal(walkGrid('a', { row: 2, column: 3 }, 30, 9), null);
  assert.equal(walkList('End', 3, 19), 18);
  assert.equal(walkList('ArrowLeft', 0, 19), 0);
});

test('the share ramp runs steadily away from the background in both themes', () => {
  for (const [theme, sign] of [
    ['light', -1],
    ['dark', 1],
  ]) {
    const ramp = rampBytes(theme, 'share');
    let last = luminance(ramp.subarray(0, 3));
    for (let i = 1; i < 256; i++) {
      const now = luminance(ramp.subarray(i * 3, i * 3 + 3));
      assert.ok((now - last) * sign >= -1e-4, `${theme} ${i}`);
      last = now;
    }
  }
  assert.equal(shareStep(0), 0);
  assert.equal(shareStep(1), 255);
  assert.ok(shareStep(0.01) >= 25, 'one percent can be seen');
});

test('ink on every shade has a contrast of at least 4.5', () => {
  for (const theme of ['light', 'dark']) {
    for (let s = 0; s <= 1; s += 1 / 512) {
      const rgb = shareColor(s, theme).match(/\d+/g).map(Number);
      const ink = inkOnShare(s, theme) === '#fff' ? 1 : 0;
      const [a, b] = [luminance(rgb), ink].sort((x, y) => y - x);
      assert.ok((a + 0.05) / (b + 0.05) >= 4.5, `${theme} ${s}`);
    }
  }
});

test('signed colours are symmetric', () => {
  for (const v of [0.1, 0.5, 1, 2]) assert.equal(signedStep(v, 1) + signedStep(-v, 1), 255);
});

test('the text colours have AA contrast on every surface, in both themes', () => {
  const css = readFileSync(new URL('../../web/style.css', import.meta.url), 'utf8');
  const pairs = Object.fromEntries(
    [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map((m) => [m[1], [m[2], m[3]]]),
  );
  const lum = (hex) => luminance([1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  for (const text of ['ink', 'ink-2', 'ink-3', 'accent', 'plus', 'minus', 'error']) {
    for (const ground of ['paper', 'surface', 'sunken']) {
      for (const theme of [0, 1]) {
        const [a, b] = [lum(pairs[text][theme]), lum(pairs[ground][theme])].sort((x, y) => y - x);
        const contrast = (a + 0.05) / (b + 0.05);
        assert.ok(contrast >= 4.5, `${text} on ${ground}, ${['light', 'dark'][theme]}: ${contrast.toFixed(2)}`);
      }
    }
  }
});

test('strongest share and its token, with and without the first token', () => {
  const look = [0.6, 0.3, 0.1, 0.2, 0.2, 0.6];
  assert.deepEqual([...strongest(look, 2, 3, false).key], [0, 2]);
  assert.deepEqual([...strongest(look, 2, 3, true).key], [1, 2]);
  assert.deepEqual([...strongest([1], 1, 1, true).key], [-1]);
});

test('ranks count from 1 and pass over what is missing', () => {
  assert.equal(rankOf([0.5, null, 0.9], 0), 2);
  assert.equal(rankOf([0.5, null, 0.9], 1), null);
  assert.deepEqual(order([0.5, null, 0.9, NaN]), [2, 0]);
});

test('a token standing among all logits', () => {
  const s = standing(Float32Array.of(1, 3, 2), 2);
  assert.equal(s.rank, 2);
  assert.ok(Math.abs(s.probability - Math.exp(2) / (Math.exp(1) + Math.exp(2) + Math.exp(3))) < 1e-12);
});

test('lens tokens stand at their best layer', () => {
  const best = bestLayers([
    { layer: 0, top: [{ id: 1, text: 'a', probability: 0.2 }] },
    {
      layer: 1,
      top: [
        { id: 2, text: 'b', probability: 0.9 },
        { id: 1, text: 'a', probability: 0.1 },
      ],
    },
  ]);
  assert.deepEqual(
    best.map((b) => [b.id, b.layer]),
    [
      [2, 1],
      [1, 0],
    ],
  );
});

test('repeats: the definition leaves out a copy that stands right before', () => {
  assert.deepEqual(repeats([1, 1, 1, 2, 1]), [
    { position: 2, earlier: [0] },
    { position: 4, earlier: [0, 1, 2] },
  ]);
});
