// Owns: the shades of many small chips, drawn on one canvas over them: a word's tap changes one picture, not a thousand elements.

import { h } from './dom.js';

/** Height of a band at a compact chip's upper and lower edge, and the chip's own border. */
const BAND = 6;
const BORDER = 1;
/** Most pixels of the canvas: a very long text on a fine screen is drawn coarser. */
const MOST_PIXELS = 4e6;
const LONGEST_SIDE = 16000;

/** @param {HTMLElement} list the chips' list; the canvas lies over it, in the same scrolling box */
export function shadeCanvas(list) {
  const canvas = /** @type {HTMLCanvasElement} */ (
    h('canvas', { class: 'shades', 'aria-hidden': 'true', hidden: true })
  );
  /** Places of the chips; null while they may have moved. @type {Float32Array|null} */
  let places = null;
  let scale = 1;
  /** @type {{chips: {button: HTMLElement}[], above: (i: number) => string|null, below: (i: number) => string|null}|null} */
  let wanted = null;
  let planned = false;

  function measure(chips) {
    places = new Float32Array(chips.length * 4);
    chips.forEach(({ button }, i) =>
      /** @type {Float32Array} */ (places).set(
        [button.offsetLeft, button.offsetTop, button.offsetWidth, button.offsetHeight],
        i * 4,
      ),
    );
    const [width, height] = [list.offsetWidth, list.offsetHeight];
    scale = Math.min(
      globalThis.devicePixelRatio || 1,
      Math.sqrt(MOST_PIXELS / Math.max(1, width * height)),
      LONGEST_SIDE / Math.max(1, width, height),
    );
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }

  function paint() {
    planned = false;
    if (!wanted) return;
    const { chips, above, below } = wanted;
    if (places?.length !== chips.length * 4) places = null;
    const fresh = places === null;
    if (fresh) measure(chips);
    const at = /** @type {Float32Array} */ (/** @type {unknown} */ (places));
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    pen.setTransform(1, 0, 0, 1, 0, 0);
    if (!fresh) pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    let color = '';
    const fill = (shade, x, y, width) => {
      if (shade === null) return;
      if (shade !== color) pen.fillStyle = color = shade;
      pen.fillRect(x, y, width, BAND);
    };
    for (let i = 0; i < chips.length; i++) {
      const [x, y] = [at[i * 4] + BORDER, at[i * 4 + 1] + BORDER];
      const [width, height] = [at[i * 4 + 2] - 2 * BORDER, at[i * 4 + 3] - 2 * BORDER];
      fill(above(i), x, y, width);
      fill(below(i), x, y + height - BAND, width);
    }
  }

  /** Before the frame's own layout, after all that changes it: so the chips' places are read once. */
  function plan() {
    if (planned) return;
    planned = true;
    requestAnimationFrame(paint);
  }

  new ResizeObserver(() => {
    places = null;
    if (wanted) plan();
  }).observe(list);

  return {
    canvas,
    /** The chips may stand elsewhere now. */
    moved() {
      places = null;
      if (wanted) plan();
    },
    /** @param {{button: HTMLElement}[]} chips @param {(i: number) => string|null} above shade, null for none @param {(i: number) => string|null} below */
    draw(chips, above, below) {
      wanted = { chips, above, below };
      canvas.hidden = false;
      plan();
    },
    clear() {
      wanted = null;
      canvas.hidden = true;
    },
  };
}
