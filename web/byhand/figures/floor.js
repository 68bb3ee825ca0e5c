/** The context floor: how well any predictor can do on a text if it sees only the last k characters. */
import { controls, textField } from '../fields.js';
import { count, fixed, plain } from '../format.js';
import { contextFloor } from '../maths/context_floor.js';
import { bar, num, said, slot, table } from '../tables.js';
import { TEXT } from '../toy_data.js';

const LONGEST = 5;

/** @param {HTMLElement} root @returns {() => void} */
export function floorFigure(root) {
  const text = textField({ label: 'text', initial: TEXT, maxLength: 20000, onChange: () => update() });
  const results = slot();
  const sentence = said();
  root.append(controls([text]), results, sentence);

  function update() {
    const characters = Array.from(text.value()).length;
    const rows = Array.from({ length: LONGEST + 1 }, (_, k) => ({ k, ...contextFloor(text.value(), k) })).filter(
      (row) => row.predictions > 0,
    );
    const highest = Math.max(...rows.map((row) => row.floor));
    results.replaceChildren(
      table({
        caption: 'Least possible loss, in nats a character',
        heads: ['k, characters seen', 'floor', 'different contexts', 'predictions'],
        rows: rows.map(({ k, floor, contexts, predictions }) => {
          const at = (name, i) =>
            `context_floor/rows/${k}/${name}${i === undefined ? '' : ` context_floor/seed/${k}/${i}`}`;
          return [
            num(k, { at: at('k', 0), print: plain }),
            [num(floor, { at: at('floor_nats', 1), live: `floor-${k}` }), bar(highest && floor / highest)],
            num(contexts, { at: at('contexts', 2), live: `contexts-${k}`, print: count }),
            num(predictions, { at: at('predictions'), live: `predictions-${k}`, print: count }),
          ];
        }),
      }),
    );
    const last = rows.at(-1);
    sentence.replaceChildren(
      'The text has ',
      num(characters, { at: 'context_floor/text_length', live: 'characters', print: count }),
      ` characters. Knowing ${last.k} before it, the best guess of the next costs ${fixed(last.floor, 3)} nats: on average as hard as a fair choice among ${fixed(Math.exp(last.floor), 2)}.`,
    );
  }
  return update;
}
