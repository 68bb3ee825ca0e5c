// Owns: drawing an n × n pattern on a canvas and naming the cell under pointer or cursor keys. Touches the DOM, colours, geometry.

import { h, setText } from './dom.js';
import { rampBytes, shareStep } from './color_scale.js';
import { matrixCells, cellAt, walkGrid } from './layout.js';

/**
 * @param {{label: string, onPick: (row: number, column: number) => void, describe: (row: number, column: number) => string}} options
 */
export function patternCanvas({ label, onPick, describe }) {
  const canvas = /** @type {HTMLCanvasElement} */ (
    h('canvas', { class: 'pattern', tabindex: '0', role: 'img', 'aria-label': label })
  );
  const cursor = h('div', { class: 'pattern-cursor', hidden: true });
  const said = h('p', { class: 'note pattern-said', 'aria-live': 'polite' });
  const frame = h('div', { class: 'pattern-frame' }, canvas, cursor);
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
     * One pass over an image of n × n pixels; the browser enlarges it. No element per cell.
     * @param {ArrayLike<number>} values [n, n] @param {number} count n @param {{row: number|null, aside: boolean, theme: 'light'|'dark'}} options
     */
    draw(values, count, { row, aside, theme }) {
      n = count;
      const { cell } = matrixCells(n, canvas.clientWidth || 280, devicePixelRatio);
      const image = new ImageData(n, n);
      const ramp = rampBytes(theme, 'share');
      const later = theme === 'dark' ? [20, 24, 27] : [233, 236, 235];
      for (let q = 0; q < n; q++) {
        for (let k = 0; k < n; k++) {
          const o = (q * n + k) * 4;
          if (k > q || (aside && k === 0)) {
            image.data[o] = later[0];
            image.data[o + 1] = later[1];
            image.data[o + 2] = later[2];
          } else {
            const step = shareStep(values[q * n + k]) * 3;
            image.data[o] = ramp[step];
            image.data[o + 1] = ramp[step + 1];
            image.data[o + 2] = ramp[step + 2];
          }
          image.data[o + 3] = 255;
        }
      }
      canvas.width = canvas.height = n * cell;
      const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
      context.imageSmoothingEnabled = false;
      if (cell === 1) context.putImageData(image, 0, 0);
      else {
        const small = new OffscreenCanvas(n, n);
        /** @type {OffscreenCanvasRenderingContext2D} */ (small.getContext('2d')).putImageData(image, 0, 0);
        context.drawImage(small, 0, 0, n * cell, n * cell);
      }
      if (row !== null && row < n) {
        context.strokeStyle = theme === 'dark' ? '#f4f6f6' : '#1a2126';
        context.lineWidth = Math.max(1, Math.round(devicePixelRatio));
        context.strokeRect(0.5, row * cell + 0.5, (row + 1) * cell - 1, cell - 1);
      }
    },
  };
}
