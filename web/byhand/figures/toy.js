/** Toy embeddings through one head of random matrices, every step shown; another random head for comparison. */
import { h } from '../../view/dom.js';
import { sentenceAndBeginning } from '../beginning.js';
import { controls, numberField, switchField } from '../fields.js';
import { plain } from '../format.js';
import { attention } from '../maths/attention.js';
import { normal } from '../maths/random.js';
import { matrix, named, num, said, slot } from '../tables.js';
import { EMBEDDING, TEXT, VOCAB } from '../toy_data.js';
import { embed, neighbourPairs, STORED_HEAD } from '../toy_words.js';

const SLOTS = ['0', '1', '2', '3'];
const REACH = 2;
const ARTICLE = ['the cat sat', 'the cat sat on the'];

/** @param {HTMLElement} root @returns {() => void} */
export function toyFigure(root) {
  const { words, start } = sentenceAndBeginning({
    initial: ARTICLE[1],
    fewest: 1,
    most: 7,
    onChange: () => update(),
  });
  const other = switchField({ label: 'another random head', initial: false, onChange: () => update() });
  const seed = numberField({
    label: 'its seed',
    initial: 1,
    min: 0,
    max: 2147483647,
    whole: true,
    onChange: () => update(),
  });
  const source = h('p', { class: 'note' });
  const embeddings = slot();
  const matrices = slot('side-by-side');
  const runs = slot();
  const sentence = said();
  const textWords = TEXT.split(' ');
  source.append(
    'Learnt from ',
    h('q', { text: TEXT }),
    ': ',
    num(textWords.length, { at: 'toy_attention/word_count', print: plain }),
    ` words, ${VOCAB.length} of them different, `,
    num(neighbourPairs(textWords.length, REACH), { at: 'toy_attention/pair_count', print: plain }),
    ` pairs of words at most ${REACH} places apart.`,
  );
  root.append(
    h('details', { class: 'data', open: true }, h('summary', { text: 'The 12 word vectors, E' }), source, embeddings),
    controls([other, seed]),
    h('details', { class: 'data', open: true }, h('summary', { text: 'The three matrices of the head' }), matrices),
    controls([words, start]),
    runs,
    sentence,
  );

  function update() {
    const list = words.value();
    const stored = !other.value();
    const head = stored ? STORED_HEAD : randomHead(seed.value());
    embeddings.replaceChildren(
      matrix({
        caption: 'E: one row a word',
        rows: EMBEDDING,
        rowNames: VOCAB,
        columnNames: SLOTS,
        at: (i, j) => `toy_attention/E/${i}/${j}`,
        shade: 'signed',
        corner: 'word',
      }),
    );
    matrices.replaceChildren(
      ...['WQ', 'WK', 'WV'].map((name) =>
        matrix({
          caption: named('W', name[1]),
          rows: head[name],
          rowNames: SLOTS,
          columnNames: SLOTS,
          at: (i, j) => (stored ? `toy_attention/${name}/${i}/${j}` : null),
          shade: 'signed',
          corner: 'in \\ out',
        }),
      ),
    );
    runs.replaceChildren();
    const parts = [...new Set([list.slice(0, start.value()).join(' '), list.join(' ')])].map((part) => part.split(' '));
    for (const part of parts) {
      const { pattern, output } = attention(embed(part), head, { masked: true });
      const name = stored && ARTICLE.includes(part.join(' ')) ? part.join('_') : null;
      const seedKey = part.length === 3 ? 'seed_A3' : 'seed_A5';
      const sums = pattern.map((row) => row.reduce((a, b) => a + b, 0));
      runs.append(
        h(
          'div',
          { class: 'side-by-side' },
          matrix({
            caption: `Weights of “${part.join(' ')}”`,
            rows: pattern.map((row, i) => [...row, sums[i]]),
            rowNames: part,
            columnNames: [...part, 'sum'],
            at: (i, j) =>
              name &&
              (j < part.length
                ? `toy_attention/A_${name}/${i}/${j} toy_attention/${seedKey}/${i}/${j}`
                : part.length === 3
                  ? `toy_attention/row_sums/${i}`
                  : null),
            later: (i, j) => j > i && j < part.length,
            corner: 'from \\ to',
          }),
          matrix({
            caption: `What each word of “${part.join(' ')}” receives`,
            rows: output,
            rowNames: part,
            columnNames: SLOTS,
            at: (i, j) => name && `toy_attention/out_${name}/${i}/${j}`,
            shade: 'signed',
            corner: 'word',
          }),
        ),
      );
    }
    const { pattern } = attention(embed(list), head, { masked: true });
    const lastRow = pattern.at(-1);
    const best = lastRow.indexOf(Math.max(...lastRow));
    sentence.textContent = `The last word, “${list.at(-1)}”, looks most at “${list[best]}” (place ${best}), for no reason but chance: nothing trained this head.`;
  }
  return update;
}

/** Matrices of normal draws with spread 1/√4, so that vectors keep their size. */
function randomHead(seed) {
  const draw = normal(seed);
  const square = () => SLOTS.map(() => SLOTS.map(() => draw() / 2));
  return { WQ: square(), WK: square(), WV: square() };
}
