// Owns: the legends of shares and of signed values, with both ends printed. May touch: the DOM, colours.

import { h } from './dom.js';
import { shareColor, signedColor, SHARE_TICKS } from './color_scale.js';
import * as format from './format.js';

/** @param {'light'|'dark'} theme */
export function shareLegend(theme) {
  const stops = [0, ...SHARE_TICKS];
  return h(
    'div',
    {
      class: 'legend',
      role: 'img',
      'aria-label': 'Shade of a share, from 0 to 100 percent, ticks at 1, 10 and 50 percent',
    },
    ...stops.map((s) => {
      const swatch = h('i', {});
      swatch.style.backgroundColor = shareColor(s, theme);
      return h('span', {}, swatch, `${s * 100} %`.replace(' ', '\u00a0'));
    }),
  );
}

/** @param {number} limit @param {'light'|'dark'} theme @param {(v: number) => string} print @param {string} what */
export function signedLegend(limit, theme, print, what) {
  return h(
    'div',
    { class: 'legend', role: 'img', 'aria-label': `${what}: from ${print(-limit)} to ${print(limit)}` },
    ...[-limit, -limit / 10, 0, limit / 10, limit].map((v) => {
      const swatch = h('i', {});
      swatch.style.backgroundColor = signedColor(v, limit, theme);
      return h('span', {}, swatch, print(v));
    }),
  );
}

export const zeroToMax = (max, theme) =>
  h(
    'div',
    { class: 'legend', role: 'img', 'aria-label': `Shade from 0 to ${format.decimal(max, 2)}` },
    ...[0, 0.25, 0.5, 1].map((t) => {
      const swatch = h('i', {});
      swatch.style.backgroundColor = shareColor(t, theme);
      return h('span', {}, swatch, format.decimal(t * max, 2));
    }),
  );
