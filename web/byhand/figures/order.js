/** Order blindness: a sentence backwards, and one word between the same neighbours in another order, with and without mask and positions. */
import { choiceField, controls, rangeField, sentenceField } from '../fields.js';
import { fixed, plain, scientific } from '../format.js';
import { attention } from '../maths/attention.js';
import { add, maxDifference, scale } from '../maths/linear.js';
import { matrix, num, said, slot, table } from '../tables.js';
import { POSITIONS } from '../toy_data.js';
import { embed, EMBEDDED_WORDS, STORED_HEAD } from '../toy_words.js';

/** Sums in another order differ by roundings of this size at most. */
const ROUNDING = 1e-12;

/** @param {HTMLElement} root @returns {() => void} */
export function orderFigure(root) {
  const sentenceOf = (label, initial) =>
    sentenceField({ label, initial, vocab: EMBEDDED_WORDS, min: 2, max: POSITIONS.length, onChange: () => update() });
  const first = sentenceOf('sentence', 'the cat saw the dog');
  const second = sentenceOf('the same words in another order', 'the dog saw the cat');
  const word = choiceField({
    label: 'word to follow',
    initial: 'saw',
    choices: EMBEDDED_WORDS,
    onChange: () => update(),
  });
  const strength = rangeField({
    label: 'strength of the positions',
    initial: 1,
    min: 0,
    max: 2,
    step: 0.05,
    onChange: () => update(),
    print: (x) => fixed(x, 2),
  });
  const results = slot();
  const rows = slot();
  const positions = slot();
  const sentence = said();
  root.append(controls([first, second, word, strength]), results, sentence, rows, positions);

  function update() {
    const [a, b, followed, factor] = [first.value(), second.value(), word.value(), strength.value()];
    const run = (words, { masked = false, placed = false }) => {
      const x = embed(words);
      return attention(placed ? add(x, scale(POSITIONS, factor)) : x, STORED_HEAD, { masked }).output;
    };
    const backwards = [...a].reverse();
    const reversal = (options) => maxDifference([...run(a, options)].reverse(), run(backwards, options));
    const [inFirst, inSecond] = [a.indexOf(followed), b.indexOf(followed)];
    const comparable = inFirst >= 0 && inSecond >= 0 && [...a].sort().join(' ') === [...b].sort().join(' ');
    const following = (options) =>
      comparable ? maxDifference([run(a, options)[inFirst]], [run(b, options)[inSecond]]) : NaN;
    const outcome = (label, difference, sameAt, at, live) => [
      label,
      Number.isNaN(difference)
        ? '–'
        : num(difference < ROUNDING, { at: sameAt, print: (same) => (same ? 'the same' : 'not the same') }),
      Number.isNaN(difference)
        ? '–'
        : num(difference, { at, live, print: (x) => (x === 0 ? '0' : x < ROUNDING ? scientific(x) : fixed(x, 3)) }),
    ];
    const where = (name) => `toy_attention/${name}`;
    results.replaceChildren(
      table({
        caption: `“${a.join(' ')}” and what another order does`,
        heads: ['compared', 'outputs', 'largest difference'],
        rows: [
          outcome(
            'backwards; no mask, no positions',
            reversal({}),
            where('unmasked_reversal_equal'),
            null,
            'reversal-plain',
          ),
          outcome(
            'backwards; no mask, positions added',
            reversal({ placed: true }),
            where('with_positions_reversal_equal'),
            `${where('with_positions_max_diff')} ${where('seed_with_positions_max_diff')}`,
            'reversal-placed',
          ),
          outcome(
            `“${followed}” in “${b.join(' ')}”; no mask`,
            following({}),
            where('unmasked_saw_equal'),
            null,
            'word-plain',
          ),
          outcome(
            `“${followed}” in “${b.join(' ')}”; causal mask`,
            following({ masked: true }),
            where('masked_saw_equal'),
            `${where('masked_saw_max_diff')} ${where('seed_masked_saw_max_diff')}`,
            'word-masked',
          ),
        ],
      }),
    );
    const names = POSITIONS[0].map((_, i) => String(i));
    rows.replaceChildren(
      matrix({
        caption: `What “${a.join(' ')}” receives; no mask, positions at ${fixed(factor, 2)}`,
        rows: run(a, { placed: true }),
        rowNames: a,
        columnNames: names,
        shade: 'signed',
        corner: 'word',
      }),
    );
    positions.replaceChildren(
      matrix({
        caption: 'The position vectors, at strength 1',
        rows: POSITIONS,
        rowNames: POSITIONS.map((_, i) => plain(i)),
        columnNames: names,
        at: (i, j) => `${where('pos')}/${i}/${j}`,
        shade: 'signed',
        corner: 'place',
      }),
    );
    sentence.textContent = comparable
      ? `Without mask and positions “${followed}” receives the same from the same words, whoever saw whom.`
      : `Both sentences need the same words, “${followed}” among them, to be compared.`;
  }
  return update;
}
