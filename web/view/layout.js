// Owns: geometry as pure functions: which rows are on screen, which cell is under a point, where an arrow key leads. May touch: nothing.

/**
 * Rows of a long table that have to exist. Rows are equally high, but for one that may be open.
 * @param {{count: number, rowHeight: number, scrollTop: number, viewHeight: number, openIndex: number, openHeight: number, spare?: number}} t
 * @returns {{first: number, end: number, before: number, after: number}} rows first…end-1, and the heights left out
 */
export function rowWindow({ count, rowHeight, scrollTop, viewHeight, openIndex, openHeight, spare = 6 }) {
  const open = openIndex >= 0 && openIndex < count;
  const top = (i) => i * rowHeight + (open && i > openIndex ? openHeight : 0);
  const rowAt = (y) => {
    if (!open || y < (openIndex + 1) * rowHeight) return Math.floor(y / rowHeight);
    return Math.max(openIndex, Math.floor((y - openHeight) / rowHeight));
  };
  const first = Math.min(Math.max(0, rowAt(scrollTop) - spare), count);
  const end = Math.max(first, Math.min(count, rowAt(scrollTop + viewHeight) + 1 + spare));
  return { first, end, before: top(first), after: top(count) - top(end) };
}

/** Long texts get small chips without digits. @param {number} n */
export function density(n) {
  return n <= 96 ? 'roomy' : 'compact';
}

/** @param {number} x @param {number} y inside a square of side `size` @returns {{row: number, column: number}|null} */
export function cellAt(x, y, size, n) {
  if (!(x >= 0 && y >= 0 && x < size && y < size) || n < 1) return null;
  return { row: Math.min(n - 1, Math.floor((y / size) * n)), column: Math.min(n - 1, Math.floor((x / size) * n)) };
}

/**
 * Where a key leads in a grid; null when the key is none of the walking keys.
 * @param {string} key @param {{row: number, column: number}} at @param {number} rows @param {number} columns
 */
export function walkGrid(key, { row, column }, rows, columns) {
  const to = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [row, 0],
    End: [row, columns - 1],
    PageUp: [0, column],
    PageDown: [rows - 1, column],
  }[key];
  if (!to) return null;
  return {
    row: Math.min(rows - 1, Math.max(0, to[0])),
    column: Math.min(columns - 1, Math.max(0, to[1])),
  };
}

/** The same for a list. @param {string} key @param {number} at @param {number} count */
export function walkList(key, at, count) {
  const to = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: count - 1 }[
    key
  ];
  return to === undefined ? null : Math.min(count - 1, Math.max(0, to));
}
