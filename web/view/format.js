// Owns: how numbers are printed. May touch: nothing. The unrounded number always stands beside the text, in data-value.

const NBSP = '\u00a0';
const MINUS = '\u2212';

/** A share or probability as the article prints it: 96.9 %, <0.1 %, 0 % (under 0.005 %). @param {number} share */
export function share(share) {
  if (!Number.isFinite(share)) return '–';
  if (share < 5e-5) return `0${NBSP}%`;
  if (share < 5e-4) return `<0.1${NBSP}%`;
  const text = (share * 100).toFixed(1);
  return `${text === '100.0' ? '100' : text}${NBSP}%`;
}

/** A signed number with a true minus sign. @param {number} value @param {number} [digits] */
export function signed(value, digits = 2) {
  if (value === -Infinity) return `${MINUS}∞`;
  if (!Number.isFinite(value)) return '–';
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** A change, always with its sign. @param {number} value @param {number} [digits] */
export function change(value, digits = 2) {
  const text = signed(value, digits);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** A change of a probability, in percentage points. @param {number} value */
export function points(value) {
  const size = Math.abs(value);
  const sign = value < 0 ? MINUS : '+';
  if (size < 5e-5) return `±0`;
  if (size < 5e-4) return `${sign}<0.1`;
  return `${sign}${(size * 100).toFixed(1)}`;
}

/** Whole numbers with thin groups: 49,152. @param {number} value */
export function count(value) {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',');
}

/** @param {number} n */
export function bytes(n) {
  if (!Number.isFinite(n)) return '–';
  if (n < 1000) return `${n}${NBSP}B`;
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)}${NBSP}kB`;
  if (n < 1e9) return `${(n / 1e6).toFixed(1)}${NBSP}MB`;
  return `${(n / 1e9).toFixed(2)}${NBSP}GB`;
}

/** @param {number} ms */
export function duration(ms) {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 10) return `${ms.toFixed(1)}${NBSP}ms`;
  if (ms < 1000) return `${Math.round(ms)}${NBSP}ms`;
  return `${(ms / 1000).toFixed(1)}${NBSP}s`;
}

/** A small decimal without trailing noise: statistics, entropies. @param {number|null} value */
export function decimal(value, digits = 3) {
  return value === null || !Number.isFinite(value) ? '–' : signed(value, digits);
}
