// Owns: what the atlas shows for each choice: one value a head, how it is shaded, printed and explained. May touch: nothing but pure helpers.

import { STATISTICS, strongest } from './ranking.js';
import { query } from '../app/selectors.js';
import { shownToken } from './visible_text.js';
import * as format from './format.js';

/**
 * @typedef {object} HeadValues
 * @property {string} name
 * @property {string} definition
 * @property {ArrayLike<number|null>} values [layers × heads]
 * @property {'share'|'signed'|'range'} scale
 * @property {number} limit end of the scale
 * @property {(value: number|null) => string} print
 * @property {(index: number) => string} detail
 * @property {ArrayLike<number|null>} [order] what the list is sorted by, where it is not the value itself
 */

export const SHADES = [
  { key: 'word', name: 'this word: strongest share' },
  { key: 'seen', name: 'this word: most looked at by a later one' },
  ...STATISTICS.map(({ key, name }) => ({ key, name: `statistic: ${name}` })),
  { key: 'effect', name: 'effect of switching it off' },
  { key: 'wrote', name: 'what it wrote into the answer' },
];

const nothing = () => '';

/** @param {any} s @returns {HeadValues|null} null while the numbers are not there */
export function headValues(s) {
  if (!s.run) return null;
  const { layers, heads } = s.run.shape;
  const count = layers * heads;
  const tokens = s.run.tokens;
  if (s.shade === 'word' || s.shade === 'seen') {
    const data = s.shade === 'word' ? s.data.look : s.data.lookedAt;
    if (!data || data.failed) return null;
    const keys = data.values.length / count;
    if (keys > tokens.length) return null;
    // A word looking at itself says nothing about who looks back, so "seen" leaves the word itself out.
    const values = s.shade === 'seen' ? data.values.map((v, i) => (i % keys === data.query ? -1 : v)) : data.values;
    const best = strongest(values, count, keys, s.aside && s.shade === 'word');
    const found = Array.from(best.share, (v) => (v < 0 ? null : v));
    return {
      name: SHADES.find((x) => x.key === s.shade)?.name ?? '',
      definition:
        s.shade === 'word'
          ? `Each square: the strongest share that this head gives from “${shownToken(tokens[query(s)])}” to any one word${s.aside ? ', the first one set aside' : ''}.`
          : `Each square: the strongest share that any later word gives to “${shownToken(tokens[query(s)])}” in this head.`,
      values: found,
      scale: 'share',
      limit: 1,
      print: (v) => (v === null ? '–' : format.share(v)),
      detail: (i) =>
        best.key[i] < 0 || found[i] === null
          ? ''
          : `${s.shade === 'word' ? 'on' : 'from'} ${shownToken(tokens[best.key[i]])} (token ${best.key[i]})`,
    };
  }
  const statistic = STATISTICS.find((x) => x.key === s.shade);
  if (statistic) {
    const rows = s.data.heads?.list;
    if (!rows || rows.length !== count) return null;
    const values = rows.map((r) => (Number.isFinite(r[statistic.key]) ? r[statistic.key] : null));
    const isEntropy = statistic.key === 'entropy';
    return {
      name: statistic.name,
      definition: statistic.definition,
      values,
      scale: isEntropy ? 'range' : 'share',
      limit: isEntropy ? Math.max(1e-9, ...values.map((v) => v ?? 0)) : 1,
      print: (v) => (v === null ? '–' : isEntropy ? `${format.decimal(v, 2)} nats` : format.share(v)),
      detail: nothing,
    };
  }
  if (s.shade === 'effect') {
    const e = s.effects;
    if (!e || e.probability.length !== count) return null;
    const values = Array.from(e.probability, (p) => (Number.isNaN(p) ? null : p - e.before));
    return {
      name: 'effect of switching it off',
      definition: `Each square: how the probability of “${shownToken(e)}” after token ${e.position} changes when this head alone is switched off, in percentage points. This is a cause; a share is not.`,
      values,
      scale: 'signed',
      limit: Math.max(1e-6, ...values.map((v) => Math.abs(v ?? 0))),
      print: (v) => (v === null ? '–' : `${format.points(v)} points`),
      detail: (i) =>
        values[i] === null
          ? ''
          : `${format.share(e.before)} → ${format.share(e.probability[i])}, KL ${format.decimal(e.kl[i], 4)} nats`,
      order: values.map((v) => (v === null ? null : Math.abs(v))),
    };
  }
  const a = s.data.attribution;
  if (!a || a.failed || a.heads.length !== count) return null;
  return {
    name: 'what it wrote into the answer',
    definition: `Each square: the part of the score (logit) of “${shownToken(a)}” after token ${a.position} that this head wrote itself, the mean over all tokens taken off.`,
    values: a.heads,
    scale: 'signed',
    limit: Math.max(1e-6, ...Array.from(a.heads, Math.abs)),
    print: (v) => format.change(Number(v), 3),
    detail: nothing,
    order: Array.from(a.heads, Math.abs),
  };
}
