/** The price: scores against the number of tokens, the whole grid and what a causal mask leaves. */
import { svg } from '../../view/dom.js';
import { controls, numberField } from '../fields.js';
import { count, fixed } from '../format.js';
import { cacheFloats, pairs, SMOLLM2_135M } from '../maths/counts.js';
import { num, said, slot, table } from '../tables.js';

const LENGTHS = [1, 5, 14, 15, 19, 512, 1000, 1024, 8192];
const F32_BYTES = 4;
const ROOM = { left: 8, right: 8, top: 10, bottom: 26, width: 360, height: 200 };

/** @param {HTMLElement} root @returns {() => void} */
export function priceFigure(root) {
  const tokens = numberField({
    label: 'tokens n',
    initial: 1000,
    min: 1,
    max: 100000,
    whole: true,
    onChange: () => update(),
  });
  const results = slot();
  const plot = slot();
  const sentence = said();
  root.append(controls([tokens]), sentence, plot, results);
  const heads = SMOLLM2_135M.layers * SMOLLM2_135M.heads;

  function update() {
    const n = tokens.value();
    const lengths = [...new Set([...LENGTHS, n, 2 * n])].sort((a, b) => a - b);
    const cell = (x, at, live) => num(x, { at, live, print: count });
    results.replaceChildren(
      table({
        caption: 'Scores of one head',
        heads: ['n', 'whole grid n²', 'causal n(n+1)/2'],
        rows: lengths.map((length) => {
          const i = LENGTHS.indexOf(length);
          const { full, causal } = pairs(length);
          const at = (name) => (i < 0 ? null : `pairs/${i}/${name}`);
          return [
            cell(length, at('n')),
            cell(full, at('full_grid'), `full-${length}`),
            cell(causal, at('causal'), `causal-${length}`),
          ];
        }),
      }),
    );
    plot.replaceChildren(drawGrowth(n));
    const { causal } = pairs(n);
    const ratio = pairs(2 * n).causal / causal;
    sentence.replaceChildren(
      `At ${count(n)} tokens the ${heads} heads of ${SMOLLM2_135M.name} compute `,
      num(causal * heads, { live: 'all-heads', print: count }),
      ' scores, ',
      num((causal * heads * F32_BYTES) / 1e6, { live: 'megabytes', digits: 1 }),
      ' MB if all were kept as 32-bit numbers. Twice the text costs ',
      num(ratio, { live: 'ratio', digits: 2 }),
      ' times as many; its keys and values, only twice as many: ',
      num(cacheFloats(SMOLLM2_135M) * n, { live: 'cache', print: count }),
      ' numbers now.',
    );
  }
  return update;
}

/** n², n(n+1)/2 and n itself up to twice the chosen n, on one scale. */
function drawGrowth(n) {
  const most = 2 * n;
  const { left, right, top, bottom, width, height } = ROOM;
  const x = (t) => left + (t / most) * (width - left - right);
  const y = (v) => height - bottom - (v / pairs(most).full) * (height - top - bottom);
  const line = (f) =>
    Array.from(
      { length: 61 },
      (_, i) => `${i ? 'L' : 'M'}${x((i / 60) * most).toFixed(1)} ${y(f((i / 60) * most)).toFixed(1)}`,
    ).join('');
  const text = (atX, atY, content, anchor = 'middle') =>
    svg('text', { x: atX, y: atY, 'text-anchor': anchor, text: content });
  const share = pairs(n).full / pairs(most).full;
  return svg(
    'svg',
    {
      class: 'plot',
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': `Growth up to ${count(most)} tokens: half the length costs ${fixed(100 * share, 0)} % of the scores`,
    },
    svg('path', { class: 'axis', d: `M${left} ${y(0)}H${width - right}M${x(n)} ${y(0)}V${top}` }),
    svg('path', { class: 'curve', d: line((t) => t * t) }),
    svg('path', { class: 'curve second', d: line((t) => (t * (t + 1)) / 2) }),
    text(x(n), height - 8, `n = ${count(n)}`),
    text(x(most), height - 8, `2n`, 'end'),
    text(x(most * 0.72), y(pairs(most * 0.72).full) - 8, 'n²', 'end'),
    text(x(most), y(pairs(most * 0.82).causal) + 18, 'n(n+1)/2', 'end'),
  );
}
