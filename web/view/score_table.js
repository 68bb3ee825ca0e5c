// Owns: the article's table: token, query·key, ÷√d, share, for the shown head and word. Touches store and actions only.

import { h, setText, setAttribute, setStyle, replaceChildren, hovers } from './dom.js';
import { showToken } from './token_text.js';
import { byHand } from './by_hand.js';
import { productsChart } from './products_chart.js';
import { spokenToken } from './visible_text.js';
import { scoreTable } from './score_rows.js';
import { shareColor } from './color_scale.js';
import { rowWindow } from './layout.js';
import { shownHead, query, pinned, headName } from '../app/selectors.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

const ROW_HEIGHT = 29;
const OPEN_HEIGHT = 226;
/** Tables up to here are drawn whole; longer ones draw what is on screen. */
const WHOLE = 160;

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function scoreTableView(root, store, actions) {
  const titleStart = h('span', {});
  const named = h('b', { class: 'named' });
  const titleEnd = h('span', { text: ' looks' });
  const title = h('h2', {}, titleStart, named, titleEnd);
  const sub = h('p', { class: 'note' });
  const sorter = (key, label) =>
    h('button', { type: 'button', class: 'sorter', onclick: () => actions.setSort(key) }, label);
  const divided = h('th', { scope: 'col', class: 'number' });
  const head = h(
    'tr',
    {},
    h('th', { scope: 'col', 'data-sort': 'position' }, sorter('position', 'token')),
    h('th', { scope: 'col', class: 'number', text: 'query·key' }),
    divided,
    h('th', { scope: 'col', class: 'number', 'data-sort': 'share' }, sorter('share', 'share')),
    h('th', { scope: 'col' }, h('span', { class: 'visually-hidden', text: 'cut the link' })),
  );
  const body = h('tbody', {});
  const sumCell = h('td', { class: 'number', 'data-column': 'sum' });
  const endsCell = h('td', { class: 'number note', colspan: 2 });
  const table = h(
    'table',
    { class: 'scores', 'data-view': 'scores' },
    h('caption', { class: 'visually-hidden' }),
    h('thead', {}, head),
    body,
    h('tfoot', {}, h('tr', {}, h('th', { scope: 'row', text: 'together' }), endsCell, sumCell, h('td', {}))),
  );
  const scroller = h('div', { class: 'scores-scroll' }, table);
  const aside = h('input', { type: 'checkbox', id: 'aside', onchange: (e) => actions.setAside(e.target.checked) });
  const asideText = h('span', {});
  const words = h('input', { type: 'checkbox', id: 'words', onchange: (e) => actions.setWords(e.target.checked) });
  const note = h('p', { class: 'note' });
  root.append(
    h('div', { class: 'stack tight' }, title, sub),
    h(
      'div',
      { class: 'row options' },
      h('label', { class: 'row check' }, words, 'whole words'),
      h('label', { class: 'row check' }, aside, 'set the first token aside'),
    ),
    h('p', { class: 'note sink' }, asideText),
    scroller,
    note,
    byHand(
      ['lookup', 'a query meets its keys'],
      ['scale', 'why divide'],
      ['saturation', 'from scores to shares'],
      ['mask', 'why later words stay out'],
    ),
  );

  /** @type {{tr: HTMLTableRowElement, name: HTMLElement, button: HTMLElement, qk: HTMLElement, scaled: HTMLElement, share: HTMLElement, cut: HTMLButtonElement}[]} */
  const pool = [];
  const before = h('tr', { 'aria-hidden': 'true', class: 'spacer' }, h('td', { colspan: 5 }));
  const after = h('tr', { 'aria-hidden': 'true', class: 'spacer' }, h('td', { colspan: 5 }));
  const openRow = h('tr', { class: 'open-row' }, h('td', { colspan: 5 }));
  /** @type {import('./score_rows.js').Table|null} */
  let shown = null;
  let drawnOrder = '';
  // Kept rather than read while drawing: reading them would lay the whole page out in the middle of its change.
  let scrollTop = 0;
  let viewHeight = 600;

  function makeRow() {
    const button = h('button', { type: 'button', class: 'row-open' });
    const cell = (column) => h('td', { class: 'number', 'data-column': column });
    const [qk, scaled, share] = [cell('qk'), cell('scaled'), cell('share')];
    const cut = h('button', { type: 'button', class: 'cut' });
    const tr = h('tr', {}, h('th', { scope: 'row' }, button), qk, scaled, share, h('td', { class: 'cut-cell' }, cut));
    return { tr, name: button, button, qk, scaled, share, cut };
  }

  const positionOf = (event) => {
    const tr = event.target instanceof Element ? event.target.closest('tr[data-position]') : null;
    return tr ? Number(tr.getAttribute('data-position')) : null;
  };
  body.addEventListener('click', (event) => {
    const position = positionOf(event);
    const s = store.state;
    if (position === null || position > query(s)) return;
    if (event.target instanceof Element && event.target.closest('.cut')) {
      const { layer, head: h_ } = shownHead(s);
      if (h_ !== null) actions.toggleOff({ layer, head: h_, query: query(s), key: position });
    } else if (!s.words && shownHead(s).head !== null) actions.openRow(position);
  });
  body.addEventListener('pointerover', (event) => hovers(event) && actions.markPair(positionOf(event)));
  body.addEventListener('pointerleave', () => actions.markPair(null));
  body.addEventListener('focusin', (event) => actions.markPair(positionOf(event)));
  body.addEventListener('focusout', () => actions.markPair(null));

  function number(cell, value, text) {
    setAttribute(cell, 'data-value', value === null ? null : value);
    setText(cell, text);
  }

  function fill(row, r, t, s) {
    const tokens = s.run.tokens;
    const token =
      r.end - r.position === 1
        ? tokens[r.position]
        : {
            text: tokens
              .slice(r.position, r.end)
              .map((x) => (x.piece && x.piece[0] > 0 ? '' : x.text))
              .join(''),
          };
    setAttribute(row.tr, 'data-position', r.position);
    setAttribute(row.tr, 'data-later', r.later ? '' : null);
    setAttribute(row.tr, 'data-aside', r.aside ? '' : null);
    setAttribute(row.tr, 'data-self', t.at >= r.position && t.at < r.end ? '' : null);
    showToken(row.name, token);
    const canOpen = !r.later && !t.averaged && !t.words;
    setAttribute(row.button, 'aria-expanded', canOpen ? String(s.open === r.position) : null);
    setAttribute(row.button, 'aria-disabled', canOpen ? null : 'true');
    setAttribute(row.button, 'title', canOpen ? `token ${r.position}: open its products` : `token ${r.position}`);
    if (r.later) {
      number(row.qk, null, '');
      number(row.scaled, null, '');
      number(row.share, null, 'later');
      setStyle(row.share, '--bar', '0');
    } else {
      number(row.qk, r.qk, r.qk === null ? '–' : format.signed(r.qk));
      number(row.scaled, r.scaled, r.scaled === null ? '–' : format.signed(r.scaled));
      number(row.share, r.share, r.aside ? `(${format.share(r.share ?? 0)})` : format.share(r.share ?? 0));
      setStyle(row.share, '--bar', r.aside ? '0' : (r.share ?? 0).toFixed(4));
      setStyle(row.share, '--bar-color', shareColor(Math.max(0.12, r.share ?? 0), s.theme));
    }
    const size = r.qk === null || t.limit === 0 ? 0 : (Math.abs(r.qk) / t.limit) * 50;
    const from = r.qk !== null && r.qk < 0 ? 50 - size : 50;
    // A background's place in percent is counted in what its own width leaves free.
    setStyle(row.qk, '--from', `${((from / (100 - size)) * 100).toFixed(2)}%`);
    setStyle(row.qk, '--size', `${size.toFixed(2)}%`);
    setAttribute(row.qk, 'data-sign', r.qk === null || r.later ? null : r.qk < 0 ? 'minus' : 'plus');
    const { layer, head: h_ } = shownHead(s);
    const isCut = s.off.some((o) => o.layer === layer && o.head === h_ && o.query === t.at && o.key === r.position);
    row.cut.hidden = r.later || t.averaged || t.words || t.at === 0 || s.run.stored;
    setText(row.cut, isCut ? 'mend' : 'cut');
    setAttribute(row.cut, 'aria-pressed', String(isCut));
    setAttribute(
      row.cut,
      'aria-label',
      `${isCut ? 'Mend' : 'Cut'} the link from ${spokenToken(tokens[t.at])} to ${spokenToken(token)}`,
    );
  }

  function draw(s) {
    const t = shown;
    if (!t) return;
    const openIndex = s.open === null ? -1 : t.rows.findIndex((r) => r.position === s.open && !r.later);
    const whole = t.rows.length <= WHOLE;
    const w = whole
      ? { first: 0, end: t.rows.length, before: 0, after: 0 }
      : rowWindow({
          count: t.rows.length,
          rowHeight: ROW_HEIGHT,
          scrollTop,
          viewHeight,
          openIndex,
          openHeight: OPEN_HEIGHT,
        });
    const count = w.end - w.first;
    while (pool.length < count) pool.push(makeRow());
    for (let i = 0; i < count; i++) {
      fill(pool[i], t.rows[w.first + i], t, s);
      setAttribute(pool[i].tr, 'aria-rowindex', whole ? null : w.first + i + 2);
    }
    setAttribute(table, 'aria-rowcount', whole ? null : t.rows.length + 2);
    const inOrder = `${count}/${w.before > 0}/${w.after > 0}/${openIndex - w.first}`;
    setStyle(before.firstChild, 'height', `${w.before}px`);
    setStyle(after.firstChild, 'height', `${w.after}px`);
    if (inOrder !== drawnOrder) {
      drawnOrder = inOrder;
      const focused = document.activeElement;
      const nodes = [];
      if (w.before > 0) nodes.push(before);
      for (let i = 0; i < count; i++) {
        nodes.push(pool[i].tr);
        if (w.first + i === openIndex) nodes.push(openRow);
      }
      if (w.after > 0) nodes.push(after);
      body.replaceChildren(...nodes);
      if (focused instanceof HTMLElement && body.contains(focused)) focused.focus({ preventScroll: true });
    }
    drawOpen(s, openIndex);
  }

  function drawOpen(s, openIndex) {
    if (openIndex < 0) return;
    const cell = /** @type {HTMLElement} */ (openRow.firstChild);
    const p = s.data.products;
    const { layer, head: h_ } = shownHead(s);
    if (p && !p.failed && p.key === s.open && p.query === query(s) && p.layer === layer && p.head === h_) {
      if (cell.dataset.for !== p.forKey) replaceChildren(cell, productsChart(p.values));
      cell.dataset.for = p.forKey;
    } else {
      delete cell.dataset.for;
      replaceChildren(
        cell,
        h('p', {
          class: 'note products-box',
          text: s.run.stored ? 'The single products come with the weights.' : 'Reading the products…',
        }),
      );
    }
  }

  function describe(s) {
    const t = shown;
    const token = s.run?.tokens[query(s)];
    if (!token) {
      setText(titleStart, 'The numbers');
      named.hidden = titleEnd.hidden = true;
      setText(sub, '');
      scroller.hidden = true;
      return;
    }
    scroller.hidden = false;
    const { layer, head: h_ } = shownHead(s);
    setText(titleStart, 'Where ');
    named.hidden = titleEnd.hidden = false;
    showToken(named, token);
    const name = headName(layer, h_);
    setText(
      sub,
      `${name[0].toUpperCase()}${name.slice(1)} · token ${query(s)}${pinned(s) === query(s) ? ', pinned' : s.hover !== null ? ', preview' : s.token === null ? ', the last word' : ''}`,
    );
    const root_ = Math.sqrt(s.run.shape.headDim);
    setText(divided, `÷${Number.isInteger(root_) ? root_ : root_.toFixed(2)}`);
    setAttribute(divided, 'title', `Divided by the square root of the ${s.run.shape.headDim} slots of a head`);
    for (const th of head.querySelectorAll('[data-sort]'))
      setAttribute(
        th,
        'aria-sort',
        th.dataset.sort === s.sort ? (s.sort === 'share' ? 'descending' : 'ascending') : null,
      );
    setText(
      /** @type {HTMLElement} */ (table.caption),
      `Scores and shares of ${spokenToken(token)}, token ${query(s)}, in ${name}`,
    );
    if (!t) return;
    sumCell.dataset.value = String(t.sum);
    setText(sumCell, s.aside ? format.share(t.sum - t.first) : format.share(t.sum));
    setText(endsCell, t.limit > 0 ? `bars end at ±${format.signed(t.limit)}` : '');
    aside.checked = s.aside;
    words.checked = s.words;
    const first = spokenToken(s.run.tokens[0]);
    setText(
      asideText,
      s.aside
        ? `${format.share(t.first)} on the first token (${first}) is set aside. What is left sums to ${format.share(t.sum - t.first)}; nothing is scaled up.`
        : `${format.share(t.first)} goes to the first token (${first})${t.first > 0.3 ? ': an attention sink (Xiao et al. 2023), a place for attention with nothing to fetch.' : '. In many heads it is an attention sink (Xiao et al. 2023).'}`,
    );
    setText(
      note,
      t.averaged
        ? 'Mean share over all heads; scores of different heads cannot be averaged. The row sums to 100 %.'
        : t.words
          ? 'A word’s share is the sum over its tokens, from a word the mean over its tokens (Clark et al. 2019); scores do not add up to a word’s. The row sums to 100 %.'
          : `The share is softmax of the ÷${Math.sqrt(s.run.shape.headDim)} column over the words up to this one; the row sums to 100 %. Open a row for its products.`,
    );
  }

  const drawLong = () => {
    if (shown && shown.rows.length > WHOLE) draw(store.state);
  };
  scroller.addEventListener(
    'scroll',
    () => {
      scrollTop = scroller.scrollTop;
      drawLong();
    },
    { passive: true },
  );
  new ResizeObserver(() => {
    if (viewHeight === scroller.clientHeight || scroller.clientHeight === 0) return;
    viewHeight = scroller.clientHeight;
    drawLong();
  }).observe(scroller);

  store.subscribe((s, old) => {
    const d = s.data;
    const moved = changed(s, old, [
      'run',
      'hover',
      'token',
      'layer',
      'head',
      'previewHead',
      'words',
      'aside',
      'sort',
      'off',
    ]);
    if (
      !moved &&
      d.row === old.data.row &&
      d.pattern === old.data.pattern &&
      d.products === old.data.products &&
      !changed(s, old, ['open', 'theme'])
    )
      return;
    // Until the new numbers are in, the old row stands whole: never a mix of two rows.
    const now = scoreTable(s);
    if (now) shown = now;
    if (!s.run) shown = null;
    if (now || !s.run) {
      describe(s);
      draw(s);
    }
  });
  describe(store.state);
}
