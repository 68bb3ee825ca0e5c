// Owns: the products of query and key, slot by slot, whose sum is their score. May touch: the DOM.

import { h, svg } from './dom.js';
import * as format from './format.js';

const WIDTH = 640;
const LANE = 62;

/**
 * Two lanes, so that slot i stands over slot i + d/2: the two are turned together by the same rotary frequency.
 * @param {ArrayLike<number>} values [headDim]
 */
export function productsChart(values) {
  const d = values.length;
  const half = Math.ceil(d / 2);
  const limit = Math.max(1e-9, ...Array.from(values, Math.abs));
  const step = WIDTH / half;
  const picture = svg('svg', {
    viewBox: `0 0 ${WIDTH} ${LANE * 2 + 16}`,
    class: 'products',
    role: 'img',
    'aria-label': `${d} signed products, from ${format.signed(-limit)} to ${format.signed(limit)}`,
    preserveAspectRatio: 'none',
  });
  for (let lane = 0; lane < 2; lane++) {
    const zero = lane * (LANE + 8) + LANE / 2 + 4;
    picture.append(svg('line', { x1: 0, x2: WIDTH, y1: zero, y2: zero, class: 'axis' }));
    for (let i = 0; i < half; i++) {
      const slot = lane * half + i;
      if (slot >= d) continue;
      const v = values[slot];
      const height = Math.max(0.6, (Math.abs(v) / limit) * (LANE / 2));
      picture.append(
        svg(
          'rect',
          {
            x: i * step + 1,
            y: v < 0 ? zero : zero - height,
            width: Math.max(1, step - 2),
            height,
            class: v < 0 ? 'minus' : 'plus',
            'data-slot': slot,
            'data-value': v,
          },
          svg('title', { text: `slot ${slot}: ${format.signed(v, 3)}` }),
        ),
      );
    }
  }
  let sum = 0;
  for (let i = 0; i < d; i++) sum += values[i];
  return h(
    'div',
    { class: 'products-box' },
    picture,
    h(
      'p',
      { class: 'note' },
      `${d} products, slot 0 to ${d - 1}, in two lanes (slots ${0}–${half - 1} above, ${half}–${d - 1} below: slot i and slot i + ${half} are turned together). Bars end at ±${format.signed(limit)}. They sum to `,
      h('b', { 'data-sum': sum, text: format.signed(sum) }),
      ', this row’s query·key.',
    ),
  );
}
