// Owns: what the shown head writes for the shown word: share × length, largest first. Touches store only.

import { h, setAttribute, replaceChildren } from './dom.js';
import { tokenText } from './token_text.js';
import { order } from './ranking.js';
import { shownHead, query, headIsOff } from '../app/selectors.js';
import * as format from './format.js';

const SHOWN = 6;

/** @param {HTMLElement} root @param {any} store */
export function mixPanel(root, store) {
  const list = h('ol', { class: 'bars', 'data-view': 'mix' });
  const note = h('p', { class: 'note' });
  root.append(h('h3', { text: 'What is written' }), note, list);

  function update(s) {
    const { layer, head } = shownHead(s);
    const w = s.data.written;
    const current =
      s.run &&
      w &&
      !w.failed &&
      w.query === query(s) &&
      w.layer === layer &&
      w.head === head &&
      w.values.length === query(s) + 1;
    setAttribute(root, 'data-waiting', current ? null : '');
    if (!s.run || head === null || s.run.stored) {
      replaceChildren(list);
      note.textContent = !s.run
        ? ''
        : head === null
          ? 'Each head writes its own mix: choose one head to see it.'
          : 'Comes with the weights.';
      return;
    }
    if (!current) return;
    const values = w.values;
    let total = 0;
    for (const v of values) total += v;
    const best = order(values).slice(0, SHOWN);
    const most = values[best[0]] || 1;
    note.textContent = headIsOff(s, layer, head)
      ? 'This head is off: nothing of this is written.'
      : 'A share says how much of a word’s value is taken; how long that value is decides how much arrives. Share × length, largest first.';
    const rest = total - best.reduce((sum, i) => sum + values[i], 0);
    replaceChildren(
      list,
      ...best.map((i) => {
        const bar = h('i', { class: 'bar' });
        bar.style.width = `${(values[i] / most) * 100}%`;
        return h(
          'li',
          { 'data-position': i, 'data-value': values[i] },
          h('span', { class: 'bar-name' }, tokenText(s.run.tokens[i])),
          h('span', { class: 'bar-track' }, bar),
          h('span', { class: 'number', text: format.signed(values[i], 2) }),
        );
      }),
      values.length > SHOWN &&
        h(
          'li',
          { class: 'note' },
          h('span', {
            class: 'bar-name',
            text: `${values.length - SHOWN} other${values.length - SHOWN > 1 ? 's' : ''}`,
          }),
          h('span', { class: 'bar-track' }),
          h('span', { class: 'number', text: format.signed(rest, 2) }),
        ),
    );
  }
  store.subscribe((s, b) => {
    if (
      s.data.written !== b.data.written ||
      s.run !== b.run ||
      s.head !== b.head ||
      s.layer !== b.layer ||
      s.previewHead !== b.previewHead ||
      s.off !== b.off
    )
      update(s);
  });
}
