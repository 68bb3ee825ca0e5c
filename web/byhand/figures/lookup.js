/** The soft lookup: three tokens with keys and values, one query, all editable; the same weights divided by √2, and with one score pushed up. */
import { h } from '../../view/dom.js';
import { controls, numberField, rangeField } from '../fields.js';
import { extreme, fixed, plain, weight } from '../format.js';
import { mix, softLookup } from '../maths/attention.js';
import { softmax } from '../maths/linear.js';
import { bar, num, said, slot, table } from '../tables.js';
import { LOOKUP_KEYS, LOOKUP_QUERY, LOOKUP_VALUES } from '../toy_data.js';

const TOKENS = ['the', 'cat', 'sat'];
const PUSHED = 1;
const PLACE = 'soft_lookup';

/** @param {HTMLElement} root @returns {() => void} */
export function lookupFigure(root) {
  const number = (label, initial) => numberField({ label, initial, hideLabel: true, onChange: () => update() });
  const query = LOOKUP_QUERY.map((x, i) => number(`query, number ${i + 1}`, x));
  const keys = LOOKUP_KEYS.map((key, t) => key.map((x, i) => number(`key of ${TOKENS[t]}, number ${i + 1}`, x)));
  const values = LOOKUP_VALUES.map((value, t) =>
    value.map((x, i) => number(`value of ${TOKENS[t]}, number ${i + 1}`, x)),
  );
  const push = rangeField({
    label: `score of “${TOKENS[PUSHED]}”, pushed to`,
    initial: 20,
    min: 0,
    max: 30,
    step: 0.5,
    onChange: () => update(),
  });
  const sentence = said();
  const results = slot();
  const outputs = slot();
  const sorted = slot();

  const inputs = h(
    'table',
    { class: 'figures inputs' },
    h('caption', { text: 'The query, and a key and a value for each token: type over any of them' }),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col', text: 'token' }),
        h('th', { scope: 'col', colspan: 2, text: 'key' }),
        h('th', { scope: 'col', colspan: 2, text: 'value' }),
      ),
    ),
    h(
      'tbody',
      {},
      TOKENS.map((token, t) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row', text: token }),
          [...keys[t], ...values[t]].map((field, i) =>
            h('td', { 'data-figure': `${PLACE}/${i < 2 ? 'K' : 'V'}/${t}/${i % 2}` }, field.element),
          ),
        ),
      ),
      h(
        'tr',
        {},
        h('th', { scope: 'row', text: 'query' }),
        query.map((field, i) => h('td', { 'data-figure': `${PLACE}/q/${i}` }, field.element)),
        h('td', { colspan: 2 }),
      ),
    ),
  );
  root.append(
    inputs,
    results,
    controls([push], [...query, ...keys.flat(), ...values.flat()]),
    outputs,
    sorted,
    sentence,
  );

  function update() {
    const read = (fields) => fields.map((field) => field.value());
    const [q, k, v] = [read(query), keys.map(read), values.map(read)];
    const plainly = softLookup(q, k, v);
    const divided = softLookup(q, k, v, Math.sqrt(q.length));
    const pushedScores = plainly.scores.map((s, t) => (t === PUSHED ? push.value() : s));
    const pushed = softmax(pushedScores);
    const short = (x) => weight(x, 3);
    const share = (w, at, print = short) => [num(w, { at, print }), bar(w)];
    results.replaceChildren(
      table({
        caption: 'Scores and weights',
        heads: ['token', 'score q·k', 'weight', 'weight, scores ÷ √2', `weight, “cat” at ${plain(push.value())}`],
        class: 'weights',
        rows: TOKENS.map((token, t) => [
          token,
          num(plainly.scores[t], { at: `${PLACE}/scores/${t}`, print: (x) => plain(Math.round(x * 1e6) / 1e6) }),
          share(plainly.weights[t], `${PLACE}/weights/${t} ${PLACE}/seed_weights/${t}`),
          share(divided.weights[t], `${PLACE}/scaled_by_sqrt2_weights/${t} ${PLACE}/seed_scaled_by_sqrt2_weights/${t}`),
          share(pushed[t], `${PLACE}/scores_cat_20/${t}`, extreme),
        ]),
      }),
    );
    const vector = (x, at, print = short) =>
      x.map((value, i) => [i ? ', ' : '(', num(value, { at: at(i), print }), i === x.length - 1 ? ')' : '']).flat();
    outputs.replaceChildren(
      table({
        caption: 'Output: the values, averaged with the weights',
        heads: ['weights used', 'output'],
        rows: [
          ['as scored', vector(plainly.output, (i) => `${PLACE}/output/${i} ${PLACE}/seed_output/${i}`)],
          ['scores ÷ √2', vector(divided.output, () => null)],
          [`“cat” at ${plain(push.value())}`, vector(mix(pushed, v), (i) => `${PLACE}/output_cat_20/${i}`, extreme)],
        ],
      }),
    );
    const order = [...plainly.scores].sort((a, b) => b - a);
    sorted.replaceChildren(
      h(
        'p',
        { class: 'note' },
        `The order of the tokens does not matter to a softmax: softmax(${order.map((s) => plain(Math.round(s * 1e6) / 1e6)).join(', ')}) = `,
        softmax(order).flatMap((w, i) => [i ? ', ' : '', num(w, { at: `${PLACE}/softmax_2_1_0/${i}`, print: short })]),
        ', the same three weights.',
      ),
    );
    const best = plainly.weights.indexOf(Math.max(...plainly.weights));
    sentence.textContent = `Most of the answer, ${fixed(100 * plainly.weights[best], 1)} %, comes from “${TOKENS[best]}”.`;
  }
  return update;
}
