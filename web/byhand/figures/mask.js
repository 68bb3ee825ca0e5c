/** The causal mask: what is added to the scores, and the pattern of a sentence with and without it, next to the pattern of its beginning. */
import { h } from '../../view/dom.js';
import { sentenceAndBeginning } from '../beginning.js';
import { controls, numberField, switchField } from '../fields.js';
import { fixed, scientific } from '../format.js';
import { attention, causalMask } from '../maths/attention.js';
import { maxDifference } from '../maths/linear.js';
import { matrix, num, said, slot } from '../tables.js';
import { embed, STORED_HEAD } from '../toy_words.js';

const ARTICLE = { 'the cat sat': 'A_the_cat_sat', 'the cat sat on the': 'A_the_cat_sat_on_the' };

/** @param {HTMLElement} root @returns {() => void} */
export function maskFigure(root) {
  const size = numberField({
    label: 'tokens in the mask',
    initial: 4,
    min: 1,
    max: 8,
    whole: true,
    onChange: () => update(),
  });
  const { words, start } = sentenceAndBeginning({
    initial: 'the cat sat on the',
    fewest: 2,
    most: 6,
    onChange: () => update(),
  });
  const masked = switchField({ label: 'causal mask', initial: true, onChange: () => update() });
  const mask = slot();
  const whole = slot();
  const beginning = slot();
  const sentence = said();
  root.append(controls([size]), mask, controls([words, start, masked]), whole, beginning, sentence);

  function update() {
    const n = size.value();
    const names = Array.from({ length: n }, (_, i) => String(i));
    mask.replaceChildren(
      matrix({
        caption: `M for ${n} tokens, added to the scores`,
        rows: causalMask(n),
        rowNames: names,
        columnNames: names,
        digits: 0,
        at: (i, j) => (n === 4 ? `causal_mask_4/M/${i}/${j}` : null),
        later: (i, j) => j > i,
        corner: 'from \\ to',
      }),
    );
    const on = masked.value();
    const list = words.value();
    const head = list.slice(0, start.value());
    const run = (part) => attention(embed(part), STORED_HEAD, { masked: on }).pattern;
    const [all, some] = [run(list), run(head)];
    const show = (place, part, pattern) => {
      const key = on ? ARTICLE[part.join(' ')] : undefined;
      place.replaceChildren(
        matrix({
          caption: `Weights of “${part.join(' ')}”, mask ${on ? 'on' : 'off'}`,
          rows: pattern,
          rowNames: part,
          columnNames: part,
          shade: 'share',
          at: (i, j) =>
            key &&
            `toy_attention/${key}/${i}/${j} toy_attention/seed_${key.split('_').length > 4 ? 'A5' : 'A3'}/${i}/${j}`,
          later: (i, j) => on && j > i,
          corner: 'from \\ to',
        }),
      );
    };
    show(whole, list, all);
    show(beginning, head, some);
    // Rows of the beginning, padded with the nothing that they give to words not yet there.
    const padded = some.map((row) => [...row, ...Array(list.length - head.length).fill(0)]);
    const change = maxDifference(padded, all.slice(0, head.length));
    sentence.replaceChildren(
      h('span', {
        text: `Adding “${list.slice(head.length).join(' ')}” changes the first ${head.length} ${head.length === 1 ? 'row' : 'rows'} by at most `,
      }),
      num(change, { live: 'prefix-change', print: (x) => (x === 0 ? '0' : x < 1e-6 ? scientific(x) : fixed(x, 3)) }),
      on ? ': the past does not feel the future.' : ': without a mask every later word rewrites the earlier ones.',
    );
  }
  return update;
}
