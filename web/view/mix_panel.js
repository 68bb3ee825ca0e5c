// Owns: what the shown head writes for the shown word: share × length, largest first. Touches store only.

import { h, setAttribute, setStyle, setText, itemPool, waitingMark } from './dom.js';
import { byHand } from './by_hand.js';
import { showToken } from './token_text.js';
import { order } from './ranking.js';
import { shownHead, query, headIsOff } from '../app/selectors.js';
import * as format from './format.js';

const SHOWN = 6;

/** @param {HTMLElement} root @param {any} store */
export function mixPanel(root, store) {
  const list = h('ol', { class: 'bars', 'data-view': 'mix' });
  const note = h('p', { class: 'note' });
  const waits = waitingMark(root);
  const showItems = itemPool(list, () => {
    const token = h('span', {});
    const others = h('span', {});
    const bar = h('i', { class: 'bar' });
    const number = h('span', { class: 'number' });
    return {
      item: h(
        'li',
        {},
        h('span', { class: 'bar-name' }, token, others),
        h('span', { class: 'bar-track' }, bar),
        number,
      ),
      token,
      others,
      bar,
      number,
    };
  });
  root.append(
    h('h3', { text: 'What is written' }),
    note,
    list,
    byHand(['matrices', 'why a value is not the word itself']),
  );

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
    waits(!current);
    if (!s.run || head === null || s.run.stored) {
      showItems(0, () => {});
      setText(
        note,
        !s.run
          ? ''
          : head === null
            ? 'Each head writes its own mix: choose one head to see it.'
            : 'Comes with the weights.',
      );
      return;
    }
    if (!current) return;
    const values = w.values;
    let total = 0;
    for (const v of values) total += v;
    const best = order(values).slice(0, SHOWN);
    const most = values[best[0]] || 1;
    setText(
      note,
      headIsOff(s, layer, head)
        ? 'This head is off: nothing of this is written.'
        : 'A share says how much of a word’s value is taken; how long that value is decides how much arrives. Share × length, largest first.',
    );
    const left = values.length - best.length;
    const rest = total - best.reduce((sum, i) => sum + values[i], 0);
    showItems(best.length + (left > 0 ? 1 : 0), ({ item, token, others, bar, number }, at) => {
      const i = at < best.length ? best[at] : null;
      setAttribute(item, 'class', i === null ? 'note' : null);
      setAttribute(item, 'data-position', i);
      setAttribute(item, 'data-value', i === null ? null : values[i]);
      token.hidden = i === null;
      if (i !== null) showToken(token, s.run.tokens[i]);
      setText(others, i === null ? `${left} other${left > 1 ? 's' : ''}` : '');
      setStyle(bar, 'width', i === null ? '0' : `${((values[i] / most) * 100).toFixed(2)}%`);
      setText(number, format.signed(i === null ? rest : values[i], 2));
    });
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
