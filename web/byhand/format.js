/** How the by-hand page prints numbers, beyond what both pages share: very small weights, and numbers as they were typed. */
import { signed } from '../view/format.js';

const SUPERSCRIPT = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };

export { count, signed as fixed } from '../view/format.js';

/**
 * weight: fixed, but what would print as 0 without being 0 is written with a power of ten
 * @param {number} x
 * @param {number} digits
 * @returns {string}
 */
export function weight(x, digits) {
  if (x === 0 || Math.abs(x) >= 0.5 * 10 ** -digits) return signed(x, digits);
  return scientific(x);
}

/**
 * extreme: nine decimals, for what is almost 1, and a power of ten for what is almost 0
 * @param {number} x
 * @returns {string}
 */
export function extreme(x) {
  return x === 0 || Math.abs(x) >= 0.001 ? signed(x, 9) : scientific(x);
}

/**
 * scientific: 2.06 × 10⁻⁹
 * @param {number} x
 * @returns {string}
 */
export function scientific(x) {
  const [mantissa, exponent] = x.toExponential(2).split('e');
  const power = String(Number(exponent)).replace(/./g, (c) => SUPERSCRIPT[c]);
  return `${mantissa.replace('-', '−')} × 10${power}`;
}

/**
 * plain: as short as the number is, for what a reader typed
 * @param {number} x
 * @returns {string}
 */
export function plain(x) {
  return String(x).replace('-', '−');
}
