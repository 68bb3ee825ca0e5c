// Owns: drawing an n × n pattern on a canvas and naming the cell under pointer or cursor keys. Touches the DOM, colours, geometry.

import { h, setText } from './dom.js';
import { rampBytes, shareStep } from './color_scale.js';
import { cellAt, walkGrid } from './layout.js';

/** @type {Map<string, Uint32Array>} */
const words = new Map();
/** The share ramp as one little-endian RGBA word a step. @param {'light'|'dark'} theme */
function rampWords(theme) {
  let ramp = words.get(theme);
  if (!ramp) {
    const bytes = rampBytes(theme, 'share');
    ramp = Uint32Array.from(
      { length: bytes.length / 3 },
      (_, i) => (0xff000000 | (bytes[i * 3 + 2] << 16) | (bytes[i * 3 + 1] << 8) | bytes[i * 3]) >>> 0,
    );
    words.set(theme, ramp);
  }
  return ramp;
}

/**
 * @param {{label: string, onPick: (row: number, column: number) => void, describe: (row: number, column: number) => string}} options
 */
export function patternCanvas({ label, onPick, describe }) {
  const canvas = /** @type {HTMLCanvasElement} */ (
    h('canvas', { class: 'pattern', tabindex: '0', role: 'img', 'aria-label': label })
  );
  const cursor = h('div', { class: 'pattern-cursor', hidden: true });
  const said = h('p', { class: 'note pattern-said', 'aria-live': 'polite' });
  const outlined = h('div', { class: 'pattern-outline', hidden: true });
  const frame = h('div', { class: 'pattern-frame' }, canvas, outlined, cursor);
  let n = 0;
  /** @type {{row: number, column: number}|null} */
  let at = null;

  function point(cell) {
    at = cell;
    cursor.hidden = !cell;
    if (!cell) return setText(said, '');
    const size = canvas.clientWidth / n;
    Object.assign(cursor.style, {
      left: `${cell.column * size}px`,
      top: `${cell.row * size}px`,
      width: `${Math.max(4, size)}px`,
      height: `${Math.max(4, size)}px`,
    });
    setText(said, describe(cell.row, cell.column));
  }
  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    return cellAt(event.clientX - box.left, event.clientY - box.top, box.width, n);
  };
  canvas.addEventListener('pointermove', (event) => {
    const cell = under(event);
    if (cell?.row !== at?.row || cell?.column !== at?.column) point(cell);
  });
  canvas.addEventListener('pointerleave', (event) => event.pointerType === 'mouse' && point(null));
  canvas.addEventListener('click', (event) => {
    const cell = under(event);
    if (!cell) return;
    point(cell);
    onPick(cell.row, cell.column);
  });
  canvas.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && at) return onPick(at.row, at.column);
    const to = walkGrid(event.key, at ?? { row: n - 1, column: 0 }, n, n);
    if (!to) return;
    event.preventDefault();
    point(to);
  });
  canvas.addEventListener('blur', () => point(null));

  return {
    frame,
    said,
    canvas,
    /**
     * One pixel a cell; the browser enlarges it with sharp edges. No element per cell.
     * @param {ArrayLike<number>} values [n, n] @param {number} count n @param {{aside: boolean, theme: 'light'|'dark'}} options
     */
    draw(values, count, { aside, theme }) {
      n = count;
      const image = new ImageData(n, n);
      const pixels = new Uint32Array(image.data.buffer);
      const ramp = rampWords(theme);
      const later = theme === 'dark' ? 0xff1b1814 : 0xffebece9;
      pixels.fill(later);
      for (let q = 0; q < n; q++) {
        for (let k = aside ? 1 : 0; k <= q; k++) pixels[q * n + k] = ramp[shareStep(values[q * n + k])];
      }
      if (canvas.width !== n) canvas.width = canvas.height = n;
      /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')).putImageData(image, 0, 0);
    },
    /** Outlines the row of one word. @param {number|null} row */
    outline(row) {
      outlined.hidden = row === null || row >= n;
      if (row === null || n === 0) return;
      const part = 100 / n;
      Object.assign(outlined.style, { top: `${row * part}%`, height: `${part}%`, width: `${(row + 1) * part}%` });
    },
  };
}
