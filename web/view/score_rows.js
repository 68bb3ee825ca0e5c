// Owns: what stands in the score table: one plain record a row, in order, and the sums below. May touch: pure helpers only.

import { query, shownHead } from '../app/selectors.js';
import { wordGroups, groupPattern, groupOf } from './word_groups.js';

/**
 * @typedef {object} Row
 * @property {number} position first token of the row
 * @property {number} end token after its last
 * @property {boolean} later
 * @property {boolean} aside
 * @property {number|null} qk
 * @property {number|null} scaled
 * @property {number|null} share
 *
 * @typedef {{rows: Row[], at: number, limit: number, sum: number, first: number, averaged: boolean, words: boolean}} Table
 */

/** @param {any} s @returns {Table|null} null while the numbers for this word and head are not there */
export function scoreTable(s) {
  if (!s.run) return null;
  const n = s.run.tokens.length;
  const at = query(s);
  const { layer, head } = shownHead(s);
  const averaged = head === null;
  const { row, pattern } = s.data;
  const wholePattern =
    pattern && !pattern.failed && pattern.n === n && pattern.head === head && (averaged || pattern.layer === layer)
      ? pattern.values
      : null;
  const wholeRow =
    row && !row.failed && row.query === at && row.layer === layer && row.head === head && row.share.length === at + 1
      ? row
      : null;

  /** @type {Row[]} */
  let rows;
  let limit = 0;
  if (s.words) {
    if (!wholePattern) return null;
    const groups = wordGroups(s.run.tokens);
    const shares = groupPattern(wholePattern, n, groups);
    const here = groupOf(groups, at);
    rows = groups.map(({ start, end }, i) => ({
      position: start,
      end,
      later: i > here,
      aside: s.aside && i === 0,
      qk: null,
      scaled: null,
      share: i > here ? null : shares[here * groups.length + i],
    }));
  } else if (averaged) {
    if (!wholePattern) return null;
    rows = s.run.tokens.map((_, k) => ({
      position: k,
      end: k + 1,
      later: k > at,
      aside: s.aside && k === 0,
      qk: null,
      scaled: null,
      share: k > at ? null : wholePattern[at * n + k],
    }));
  } else {
    if (!wholeRow) return null;
    rows = s.run.tokens.map((_, k) => {
      if (k > at) return { position: k, end: k + 1, later: true, aside: false, qk: null, scaled: null, share: null };
      if (Number.isFinite(wholeRow.qk[k])) limit = Math.max(limit, Math.abs(wholeRow.qk[k]));
      return {
        position: k,
        end: k + 1,
        later: false,
        aside: s.aside && k === 0,
        qk: wholeRow.qk[k],
        scaled: wholeRow.scaled[k],
        share: wholeRow.share[k],
      };
    });
  }
  const first = rows[0]?.share ?? 0;
  const sum = rows.reduce((total, r) => total + (r.share ?? 0), 0);
  if (s.sort === 'share') rows.sort((a, b) => (b.share ?? -1) - (a.share ?? -1) || a.position - b.position);
  return { rows, at, limit, sum, first, averaged, words: s.words };
}
