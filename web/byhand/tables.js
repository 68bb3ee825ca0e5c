/**
 * Numbers on the page. Each carries its unrounded value in data-value; `at` names the place it has among the walkthrough's figures (data-figure), so that a
 * test can hold every one of them against the reference.
 * @typedef {Node | string} Child
 */
import { inkOnShare, shareColor, signedColor } from '../view/color_scale.js';
import { h, setStyle } from '../view/dom.js';
import { fixed, plain } from './format.js';
import { theme } from './theme.js';

/**
 * num: one number
 * @param {number | boolean} value
 * @param {{at?: string | null, print?: (x: any) => string, digits?: number, tag?: string, class?: string, live?: string}} [options]
 *        live: a name for a number that stands nowhere in the walkthrough, for tests and exports (data-live)
 * @returns {HTMLElement}
 */
export function num(
  value,
  { at = null, digits = 3, print = (x) => fixed(x, digits), tag = 'span', class: className = 'number', live } = {},
) {
  return h(tag, {
    class: className,
    'data-figure': at,
    'data-live': live,
    'data-value': String(value),
    text: print(value),
  });
}

/**
 * table: caption, column heads, rows of cells; the first cell of a row is its head
 * @param {{caption: string, heads: (string | Node)[], rows: (string | Node | (string | Node)[])[][], class?: string, hideCaption?: boolean}} options
 * @returns {HTMLElement}
 */
export function table({ caption, heads, rows, class: className = '', hideCaption = false }) {
  return h(
    'table',
    { class: `figures ${className}` },
    h('caption', { class: hideCaption ? 'visually-hidden' : '', text: caption }),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        heads.map((head, i) =>
          h(head === '' ? 'td' : 'th', { scope: head === '' ? null : 'col', class: i ? 'number' : '' }, head),
        ),
      ),
    ),
    h(
      'tbody',
      {},
      rows.map((row) =>
        h(
          'tr',
          {},
          row.map((cell, i) => (i === 0 ? h('th', { scope: 'row' }, cell) : h('td', { class: 'number' }, cell))),
        ),
      ),
    ),
  );
}

/**
 * matrix: a table of numbers with a name for each row and column, shaded as shares (0 to 1) or as signed values
 * @param {{caption: string | Child[], rows: number[][], rowNames: string[], columnNames: string[], at?: (row: number, column: number) => string | null,
 *          digits?: number, print?: (x: number) => string, shade?: 'share' | 'signed' | 'none', later?: (row: number, column: number) => boolean,
 *          corner?: string}} options
 *        later: cells that a mask took away
 * @returns {HTMLElement}
 */
export function matrix({
  caption,
  rows,
  rowNames,
  columnNames,
  at,
  digits = 3,
  print = (x) => fixed(x, digits),
  shade = 'none',
  later,
  corner = '',
}) {
  const limit = Math.max(...rows.flat().filter(Number.isFinite).map(Math.abs));
  const cell = (value, i, j) =>
    num(value, {
      at: at?.(i, j),
      print: value === 0 && later?.(i, j) ? plain : print,
      tag: 'td',
      class: later?.(i, j) ? 'number later' : 'number',
    });
  const element = h(
    'table',
    { class: `figures matrix ${shade}`, 'data-limit': limit },
    h('caption', {}, ...[caption].flat()),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        corner ? h('th', { scope: 'col', text: corner }) : h('td', {}),
        columnNames.map((name) => h('th', { scope: 'col', class: 'number', text: name })),
      ),
    ),
    h(
      'tbody',
      {},
      rows.map((row, i) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row', text: rowNames[i] }),
          row.map((value, j) => cell(value, i, j)),
        ),
      ),
    ),
  );
  paint(element);
  return element;
}

/**
 * paint: colours a matrix for the theme shown, shares over the whole cell, signed values along its edge
 * @param {HTMLElement} element
 */
export function paint(element) {
  const shown = theme();
  const shares = element.classList.contains('share');
  if (!shares && !element.classList.contains('signed')) return;
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (element.querySelectorAll('td[data-value]:not(.later)'))) {
    const value = Number(cell.dataset.value);
    if (shares) {
      cell.style.backgroundColor = shareColor(value, shown);
      cell.style.color = inkOnShare(value, shown);
    } else cell.style.setProperty('--edge', signedColor(value, Number(element.dataset.limit), shown));
  }
}

/**
 * bar: a length for a share of 0 to 1, beside its number
 * @param {number} share
 * @returns {HTMLElement}
 */
export function bar(share) {
  const length = h('span');
  setStyle(length, 'width', `${100 * Math.min(1, Math.max(0, share))}%`);
  return h('span', { class: 'bar', 'aria-hidden': 'true' }, length);
}

/**
 * named: a letter with an index below it
 * @param {string} letter
 * @param {string} index
 * @returns {Child[]}
 */
export function named(letter, index) {
  return [letter, h('sub', { text: index })];
}

/**
 * shape: [12, 5, 64]
 * @param {number[]} sizes
 * @param {string} [at]
 * @returns {HTMLElement}
 */
export function shape(sizes, at) {
  return h(
    'span',
    { class: 'shape' },
    '[',
    sizes.flatMap((size, i) => [i ? ', ' : '', num(size, { at: at && `${at}/${i}`, print: plain })]),
    ']',
  );
}

/**
 * slot: a place whose content is replaced at each update
 * @param {string} [className]
 * @returns {HTMLElement}
 */
export function slot(className = '') {
  return h('div', { class: `slot ${className}` });
}

/**
 * said: the figure's result in one sentence, announced when it changes
 * @returns {HTMLElement}
 */
export function said() {
  return h('p', { class: 'said', 'aria-live': 'polite' });
}
