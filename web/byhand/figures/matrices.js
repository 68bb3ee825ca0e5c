/** Why three matrices: scores of the vectors with themselves beside scores through W_Q and W_K, and how alike two words are. */
import { h } from '../../view/dom.js';
import { choiceField, controls, sentenceField } from '../fields.js';
import { fixed, scientific } from '../format.js';
import { attention } from '../maths/attention.js';
import { cosine, matmul, maxDifference, transpose } from '../maths/linear.js';
import { matrix, named, num, said, slot } from '../tables.js';
import { embed, EMBEDDED_WORDS, STORED_HEAD } from '../toy_words.js';

/** @param {HTMLElement} root @returns {() => void} */
export function matricesFigure(root) {
  const words = sentenceField({
    label: 'words',
    initial: 'the cat saw the dog',
    vocab: EMBEDDED_WORDS,
    min: 2,
    max: 6,
    onChange: () => update(),
  });
  const pair = ['cat', 'dog'].map((word, i) =>
    choiceField({
      label: i ? 'and' : 'how alike are',
      initial: word,
      choices: EMBEDDED_WORDS,
      onChange: () => update(),
    }),
  );
  const likeness = slot();
  const own = slot();
  const projected = slot();
  const sentence = said();
  root.append(controls([...pair]), likeness, controls([words]), own, projected, sentence);

  function update() {
    const [first, second] = pair.map((field) => field.value());
    const [a, b] = embed([first, second]);
    const alike = cosine(a, b);
    likeness.replaceChildren(
      h(
        'p',
        { class: 'result' },
        `cosine of “${first}” and “${second}”: `,
        num(alike, { at: 'toy_attention/cosine_cat_dog toy_attention/seed_cosine_cat_dog', digits: 2 }),
      ),
    );
    const list = words.value();
    const x = embed(list);
    const ownScores = matmul(x, transpose(x));
    const { scores } = attention(x, STORED_HEAD, { masked: false });
    const show = (place, caption, rows) => {
      const gap = maxDifference(rows, transpose(rows));
      place.replaceChildren(
        matrix({ caption, rows, rowNames: list, columnNames: list, digits: 2, shade: 'signed', corner: 'from \\ to' }),
        h(
          'p',
          { class: 'note' },
          'Largest difference between a score and its mirror image: ',
          num(gap, { print: (g) => (g === 0 ? '0' : g < 1e-6 ? scientific(g) : fixed(g, 2)) }),
          '.',
        ),
      );
    };
    show(own, 'Own vectors as query and key: X Xᵀ', ownScores);
    show(
      projected,
      ['Through the two matrices: (X ', ...named('W', 'Q'), ')(X ', ...named('W', 'K'), ')ᵀ / √4'],
      scores,
    );
    // The first word that is not the sentence's most frequent filler reads best: prefer the second.
    const i = Math.min(1, list.length - 1);
    const others = ownScores[i].map((s, j) => (list[j] === list[i] ? -Infinity : s));
    const j = others.indexOf(Math.max(...others));
    sentence.textContent =
      others[j] === -Infinity
        ? `“${list[i]}” has no other word to look at.`
        : `With its own vector, “${list[i]}” scores ${fixed(ownScores[i][i], 2)} with itself and, of the others, most with “${list[j]}” (${fixed(ownScores[i][j], 2)}), exactly as much as “${list[j]}” with it. Through the matrices the two directions are ${fixed(scores[i][j], 2)} and ${fixed(scores[j][i], 2)}.`;
  }
  return update;
}
