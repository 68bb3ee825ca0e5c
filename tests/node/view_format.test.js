import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as format from '../../web/view/format.js';

const figures = JSON.parse(readFileSync(new URL('../data/reference/seed_figures.json', import.meta.url), 'utf8'));
const plain = (text) => text.replace(/\u00a0/g, ' ');

test("every share of the article's table prints as the article prints it", () => {
  for (const row of figures.l17h4_table) {
    assert.equal(format.share(row.seed_share_from_its_scores).replace('\u00a0', ''), row.seed_share, row.token);
  }
});

test('the ends', () => {
  assert.equal(plain(format.share(0)), '0 %');
  assert.equal(plain(format.share(1)), '100 %');
  assert.equal(plain(format.share(0.9994)), '99.9 %');
  assert.equal(plain(format.share(0.009)), '0.9 %');
  assert.equal(format.share(NaN), '–');
});

test('signed numbers use a true minus and never print minus nought', () => {
  assert.equal(format.signed(-37.744), '−37.74');
  assert.equal(format.signed(-0.001), '0.00');
  assert.equal(format.signed(-Infinity), '−∞');
  assert.equal(format.change(0.5), '+0.50');
  assert.equal(format.change(0), '0.00');
  assert.equal(format.points(-0.0525), '−5.3');
  assert.equal(format.points(0.00001), '±0');
});

test('counts and sizes', () => {
  assert.equal(format.count(49152), '49,152');
  assert.equal(format.count(500500), '500,500');
  assert.equal(plain(format.bytes(98362432)), '98.4 MB');
  assert.equal(plain(format.duration(1234)), '1.2 s');
});
