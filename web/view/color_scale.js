// Owns: every colour that stands for a number. May touch: nothing. Start at shareColor.

/** Stops from nothing to all, one hue, ever further from the page's background. */
const SHARE_STOPS = {
  light: ['#f4f7f6', '#b9dfe0', '#5cb0b7', '#127984', '#043f47'],
  dark: ['#20272b', '#1d5159', '#2a8791', '#67c4cb', '#d6f6f6'],
};

/** Negative end, middle, positive end: purple and orange, told apart with every common colour blindness. */
const SIGNED_STOPS = {
  light: ['#4b2a8c', '#a48bd0', '#f4f5f3', '#eba45c', '#8f3f00'],
  dark: ['#d3c4fb', '#8468bd', '#23292d', '#b8690f', '#ffcf94'],
};

const STEPS = 256;

/** @param {string} hex '#rrggbb' @returns {[number, number, number]} linear light, 0…1 */
function toLinear(hex) {
  const n = parseInt(hex.slice(1), 16);
  return /** @type {[number, number, number]} */ (
    [n >> 16, (n >> 8) & 255, n & 255].map((v) => {
      const c = v / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    })
  );
}

/** @param {number[]} rgb linear light @returns {[number, number, number]} bytes */
function toBytes(rgb) {
  return /** @type {[number, number, number]} */ (
    rgb.map((v) => {
      const c = Math.min(1, Math.max(0, v));
      return Math.round(255 * (c <= 0.0031308 ? c * 12.92 : 1.055 * c ** (1 / 2.4) - 0.055));
    })
  );
}

// Oklab: equal steps of the ramp look equal. Source: Ottosson 2020, https://bottosson.github.io/posts/oklab/
function linearToOklab([r, g, b]) {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}
/** @param {number[]} lab */
function oklabToLinear([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

/** @param {string[]} stops @returns {{bytes: Uint8Array, css: string[], dark: boolean[]}} */
function makeRamp(stops) {
  const lab = stops.map((hex) => linearToOklab(toLinear(hex)));
  const bytes = new Uint8Array(STEPS * 3);
  const css = [];
  const dark = [];
  for (let i = 0; i < STEPS; i++) {
    const x = (i / (STEPS - 1)) * (lab.length - 1);
    const k = Math.min(lab.length - 2, Math.floor(x));
    const rgb = toBytes(oklabToLinear(lab[k].map((v, c) => v + (lab[k + 1][c] - v) * (x - k))));
    bytes.set(rgb, i * 3);
    css.push(`rgb(${rgb.join(', ')})`); // as browsers write it back, so that an unchanged shade is seen as such
    dark.push(luminance(rgb) < 0.1791);
  }
  return { bytes, css, dark };
}

/** WCAG relative luminance. @param {ArrayLike<number>} rgb sRGB bytes */
export function luminance(rgb) {
  const f = (v) => {
    const c = v / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * f(rgb[0]) + 0.7152 * f(rgb[1]) + 0.0722 * f(rgb[2]);
}

const RAMPS = {
  light: { share: makeRamp(SHARE_STOPS.light), signed: makeRamp(SIGNED_STOPS.light) },
  dark: { share: makeRamp(SHARE_STOPS.dark), signed: makeRamp(SIGNED_STOPS.dark) },
};

/** @typedef {'light'|'dark'} Theme */

/** Place of a share on the ramp: square root, so that 1 % can be seen; the domain is 0…100 % everywhere. */
export function shareStep(share) {
  return Math.round(Math.sqrt(Math.min(1, Math.max(0, share || 0))) * (STEPS - 1));
}

/** Place of a signed value on its ramp, symmetric around 0; `limit` is the printed end. */
export function signedStep(value, limit) {
  const t = limit > 0 ? Math.min(1, Math.max(-1, value / limit)) : 0;
  const bent = Math.sign(t) * Math.sqrt(Math.abs(t));
  return Math.round(((bent + 1) / 2) * (STEPS - 1));
}

/** @param {number} share @param {Theme} theme */
export function shareColor(share, theme) {
  return RAMPS[theme].share.css[shareStep(share)];
}

/** @param {number} value @param {number} limit @param {Theme} theme */
export function signedColor(value, limit, theme) {
  return RAMPS[theme].signed.css[signedStep(value, limit)];
}

/** Black or white, whichever reads better on the shade: at least 4.5 : 1 on any colour. */
export function inkOnShare(share, theme) {
  return RAMPS[theme].share.dark[shareStep(share)] ? '#fff' : '#000';
}

/** The ramp as bytes, 256 × rgb, for canvases. @param {Theme} theme @param {'share'|'signed'} kind */
export function rampBytes(theme, kind) {
  return RAMPS[theme][kind].bytes;
}

/** Values at which the legend carries a tick. */
export const SHARE_TICKS = [0.01, 0.1, 0.5, 1];
