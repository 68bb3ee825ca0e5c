// Owns: the picture that is saved: pattern and row of the shown head, as shapes that become SVG or canvas alike. May touch: pure helpers, the DOM.

import { shareColor } from './color_scale.js';
import { shownToken } from './visible_text.js';
import { headName, query, shownHead } from '../app/selectors.js';
import * as format from './format.js';

/** Rows and labels past this are not drawn one by one. */
const MOST_LABELS = 64;
/** Patterns past this become cells of more than one token: never silently, so they are refused instead. */
export const MOST_PICTURE = 128;

/**
 * @typedef {{kind: 'rect', x: number, y: number, w: number, h: number, fill: string}
 *   | {kind: 'text', x: number, y: number, text: string, fill: string, size: number, anchor?: 'start'|'end', bold?: boolean, turn?: boolean}} Mark
 * @typedef {{width: number, height: number, marks: Mark[]}} Picture
 */

/** @param {any} s @returns {Picture|null} null when there is nothing to draw, or too much */
export function picture(s) {
  const p = s.data.pattern;
  const n = s.run?.tokens.length ?? 0;
  const { layer, head } = shownHead(s);
  if (!p || p.failed || p.n !== n || n > MOST_PICTURE || p.head !== head || (head !== null && p.layer !== layer))
    return null;
  const theme = s.theme;
  const ink = theme === 'dark' ? '#e9eded' : '#1a2126';
  const faint = theme === 'dark' ? '#b5bfc4' : '#4a555d';
  const ground = theme === 'dark' ? '#14181b' : '#ffffff';
  const later = theme === 'dark' ? '#101416' : '#eef0ef';
  const at = query(s);
  const labels = s.run.tokens.map((t) => {
    const text = shownToken(t);
    return text.length > 14 ? `${text.slice(0, 13)}…` : text;
  });
  const cell = n <= 24 ? 20 : n <= MOST_LABELS ? 12 : 5;
  const labelled = n <= MOST_LABELS;
  const left = labelled ? 110 : 16;
  const top = labelled ? 170 : 76;
  const side = cell * n;
  const rowAt = left + side + 40;
  const line = labelled ? Math.max(16, cell) : 0;
  const row = labelled ? s.data.row : null;
  const current = row && !row.failed && row.query === at && row.layer === layer && row.head === head;
  const width = labelled ? rowAt + 460 : Math.max(left + side + 16, 620);
  const height = Math.max(top + side, labelled ? top + line * (at + 1) : 0) + 84;
  /** @type {Mark[]} */
  const marks = [{ kind: 'rect', x: 0, y: 0, w: width, h: height, fill: ground }];
  const text = (x, y, value, options = {}) =>
    marks.push({ kind: 'text', x, y, text: value, fill: ink, size: 13, ...options });

  const name = headName(layer, head);
  text(16, 30, `${name[0].toUpperCase()}${name.slice(1)}`, { size: 18, bold: true });
  text(
    16,
    52,
    `Each row: where a word looks; the shade is the share, 0 to 100 % on a square-root ramp. Outlined: ${labels[at]} (token ${at}).`,
    { size: 12, fill: faint },
  );
  for (let q = 0; q < n; q++) {
    for (let k = 0; k < n; k++) {
      const fill = k > q ? later : shareColor(p.values[q * n + k], theme);
      marks.push({ kind: 'rect', x: left + k * cell, y: top + q * cell, w: cell, h: cell, fill });
    }
    if (!labelled) continue;
    text(left - 6, top + q * cell + cell / 2 + 4, labels[q], {
      size: Math.min(12, cell),
      anchor: 'end',
      bold: q === at,
    });
    text(left + q * cell + cell / 2 + 4, top - 6, labels[q], { size: Math.min(12, cell), turn: true });
  }
  const edge = (x, y, w, h) => marks.push({ kind: 'rect', x, y, w, h, fill: ink });
  edge(left, top + at * cell, (at + 1) * cell, 1);
  edge(left, top + (at + 1) * cell - 1, (at + 1) * cell, 1);
  edge(left, top + at * cell, 1, cell);
  edge(left + (at + 1) * cell - 1, top + at * cell, 1, cell);

  if (labelled) {
    text(rowAt, top - 12, `${labels[at]} looks at`, { bold: true });
    if (current) {
      text(rowAt + 210, top - 12, 'query·key', { size: 11, fill: faint, anchor: 'end' });
      text(rowAt + 264, top - 12, `÷${Math.sqrt(s.run.shape.headDim)}`, { size: 11, fill: faint, anchor: 'end' });
    }
    text(rowAt + 450, top - 12, 'share', { size: 11, fill: faint, anchor: 'end' });
    for (let k = 0; k <= at; k++) {
      const y = top + k * line;
      const value = p.values[at * n + k];
      const size = Math.min(13, line - 3);
      text(rowAt, y + line - 4, labels[k], { size });
      if (current) {
        text(rowAt + 210, y + line - 4, format.signed(row.qk[k]), { size, anchor: 'end' });
        text(rowAt + 264, y + line - 4, format.signed(row.scaled[k]), { size, anchor: 'end' });
      }
      marks.push({
        kind: 'rect',
        x: rowAt + 280,
        y: y + 3,
        w: Math.max(0.5, 110 * value),
        h: line - 6,
        fill: shareColor(Math.max(0.12, value), theme),
      });
      text(rowAt + 450, y + line - 4, format.share(value), { size, anchor: 'end' });
    }
  }
  const { weights } = s.run;
  text(
    16,
    height - 42,
    `Lookback · ${s.source.name} · ${weights.precision} · SHA-256 ${weights.sha256 ?? 'not known'}`,
    { size: 11, fill: faint },
  );
  const shown = s.run.text.replace(/\s+/g, ' ');
  text(16, height - 22, `Text: ${shown.length > 130 ? `${shown.slice(0, 129)}…` : shown}`, { size: 11, fill: faint });
  if (s.run.off.length)
    text(
      16,
      height - 58,
      `Switched off: ${s.run.off.map((o) => `L${o.layer}H${o.head}${o.query === undefined ? '' : ` ${o.query}→${o.key}`}`).join(', ')}`,
      { size: 11, fill: faint },
    );
  return { width, height, marks };
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const escape = (text) =>
  text
    // Characters that XML cannot hold are shown as what they are: not there.
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c);

/** @param {Picture} p @returns {string} */
export function toSvg({ width, height, marks }) {
  const body = marks.map((m) => {
    if (m.kind === 'rect') return `<rect x="${m.x}" y="${m.y}" width="${m.w}" height="${m.h}" fill="${m.fill}"/>`;
    const turn = m.turn ? ` transform="rotate(-90 ${m.x} ${m.y})"` : '';
    const anchor = m.anchor === 'end' ? ' text-anchor="end"' : '';
    return `<text x="${m.x}" y="${m.y}" font-size="${m.size}" fill="${m.fill}"${anchor}${m.bold ? ' font-weight="600"' : ''}${turn} xml:space="preserve">${escape(m.text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${escape(FONT)}">${body.join('')}</svg>`;
}

/** Drawn straight onto a canvas: no image is loaded, so the strictest policy allows it. @param {Picture} p @returns {Promise<Blob>} */
export async function toPng({ width, height, marks }, scale = 2) {
  const canvas = new OffscreenCanvas(Math.ceil(width * scale), Math.ceil(height * scale));
  const c = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d'));
  c.scale(scale, scale);
  for (const m of marks) {
    c.fillStyle = m.fill;
    if (m.kind === 'rect') {
      c.fillRect(m.x, m.y, m.w, m.h);
      continue;
    }
    c.font = `${m.bold ? '600 ' : ''}${m.size}px ${FONT}`;
    c.textAlign = m.anchor === 'end' ? 'right' : 'left';
    c.save();
    c.translate(m.x, m.y);
    if (m.turn) c.rotate(-Math.PI / 2);
    c.fillText(m.text, 0, 0);
    c.restore();
  }
  return canvas.convertToBlob({ type: 'image/png' });
}
