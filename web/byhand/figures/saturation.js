/** Saturation: the same small step of a score, taken high up and low down. */
import { svg } from '../../view/dom.js';
import { controls, numberField } from '../fields.js';
import { fixed, plain, weight } from '../format.js';
import { softmax } from '../maths/linear.js';
import { num, said, slot, table } from '../tables.js';

const ROOM = { left: 34, right: 8, top: 8, bottom: 26, width: 360, height: 180 };

/** @param {HTMLElement} root @returns {() => void} */
export function saturationFigure(root) {
  const number = (label, initial, min, max) => numberField({ label, initial, min, max, onChange: () => update() });
  const high = number('a high score', 10, -20, 20);
  const low = number('a low score', 1, -20, 20);
  const step = number('step', 0.1, -5, 5);
  const results = slot();
  const curve = slot();
  const sentence = said();
  root.append(controls([high, low, step]), results, curve, sentence);

  function update() {
    const by = step.value();
    const rows = [high.value(), low.value()].map((from, i) => {
      // 10 + 0.1 as a reader adds them, not as binary fractions do.
      const to = Number((from + by).toFixed(10));
      return {
        from,
        to,
        before: softmax([from, 0, 0]),
        after: softmax([to, 0, 0]),
        digits: i ? 3 : 5,
        place: ['softmax_10', 'softmax_1'][i],
        first: i * 2,
      };
    });
    const cells = (weights, at, seedAt, digits) =>
      weights.map((w, i) =>
        num(w, {
          at: `saturation/${at}/${i}${i ? '' : ` saturation/seed/${seedAt}`}`,
          print: (x) => weight(x, i ? 3 : digits),
        }),
      );
    results.replaceChildren(
      table({
        caption: 'softmax(score, 0, 0)',
        heads: ['score', 'its weight', 'second', 'third'],
        rows: rows.flatMap(({ from, to, before, after, digits, place, first }) => [
          [plain(from), ...cells(before, `${place}_0_0`, first, digits)],
          [plain(to), ...cells(after, `${place}.1_0_0`, first + 1, digits)],
        ]),
      }),
      table({
        caption: `What a step of ${plain(by)} moves`,
        heads: ['from', 'change of its weight', 'slope there, w (1 − w)'],
        rows: rows.map(({ from, before, after }, i) => [
          plain(from),
          num(after[0] - before[0], { print: (x) => weight(x, 4), live: `change-${i}` }),
          num(before[0] * (1 - before[0]), { print: (x) => weight(x, 4) }),
        ]),
      }),
    );
    curve.replaceChildren(drawCurve(rows));
    const [top, bottom] = rows.map(({ before, after }) => after[0] - before[0]);
    const ratio = Math.abs(bottom / top);
    sentence.textContent =
      top === 0 || bottom === 0
        ? 'No step, no change.'
        : `The same step moves the weight ${ratio >= 1 ? `${fixed(ratio, ratio < 10 ? 1 : 0)} times as far from ${plain(rows[1].from)} as from ${plain(rows[0].from)}` : `${fixed(1 / ratio, 1 / ratio < 10 ? 1 : 0)} times as far from ${plain(rows[0].from)} as from ${plain(rows[1].from)}`}.`;
  }
  return update;
}

/** The weight of a score s beside two zeros: flat at both ends. */
function drawCurve(rows) {
  const scores = rows.flatMap(({ from, to }) => [from, to]);
  const [least, most] = [Math.min(-4, ...scores), Math.max(12, ...scores)];
  const { left, right, top, bottom, width, height } = ROOM;
  const x = (s) => left + ((s - least) / (most - least)) * (width - left - right);
  const y = (w) => height - bottom - w * (height - top - bottom);
  const line = Array.from({ length: 121 }, (_, i) => {
    const s = least + (i / 120) * (most - least);
    return `${i ? 'L' : 'M'}${x(s).toFixed(1)} ${y(softmax([s, 0, 0])[0]).toFixed(1)}`;
  }).join('');
  const text = (at, content, anchor = 'middle') =>
    svg('text', { x: at[0], y: at[1], 'text-anchor': anchor, text: content });
  return svg(
    'svg',
    {
      class: 'plot',
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': 'Weight of a score beside two zeros: it rises from 0 and flattens towards 1',
    },
    svg('path', {
      class: 'axis',
      d: `M${left} ${y(1)}H${width - right}M${left} ${y(0.5)}H${width - right}M${left} ${y(0)}H${width - right}`,
    }),
    ...[0, 0.5, 1].map((w) => text([left - 6, y(w) + 4], String(w), 'end')),
    ...[Math.ceil(least), 0, Math.floor(most)].map((s) => text([x(s), height - 8], plain(s))),
    svg('path', { class: 'curve', d: line }),
    ...rows.map(({ from, before }) => svg('circle', { class: 'mark', cx: x(from), cy: y(before[0]), r: 5 })),
  );
}
