// Owns: the model's next tokens at the shown position, before and after what is switched off. Touches store and actions only.

import { h, setText, setAttribute, setStyle, itemPool, waitingMark } from './dom.js';
import { showToken } from './token_text.js';
import { query } from '../app/selectors.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

const SHOWN = 10;

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function nextList(root, store, actions) {
  const titleStart = h('span', {});
  const named = h('b', { class: 'named' });
  const title = h('h2', {}, titleStart, named);
  const sub = h('p', { class: 'note' });
  const list = h('ol', { class: 'bars next', 'data-view': 'next', 'aria-label': 'Most probable next tokens' });
  const othersName = h('span', {});
  const othersNumber = h('span', { class: 'number' });
  const others = h('p', { class: 'next-others' }, othersName, othersNumber);
  root.append(title, sub, list, others);
  const waits = waitingMark(root);
  const showItems = itemPool(list, () => {
    const name = h('span', { class: 'bar-name' });
    const bar = h('i', { class: 'bar' });
    const mark = h('i', { class: 'was', hidden: true });
    const number = h('span', {});
    const before = h('span', { class: 'visually-hidden' });
    const button = h(
      'button',
      { type: 'button', class: 'follow' },
      name,
      h('span', { class: 'bar-track' }, bar, mark),
      h('span', { class: 'number' }, number, before),
    );
    return { item: h('li', {}, button), button, name, bar, mark, number, before };
  });

  list.addEventListener('click', (event) => {
    const item = event.target instanceof Element ? event.target.closest('li[data-id]') : null;
    if (!item) return;
    const id = Number(item.getAttribute('data-id'));
    const found = store.state.data.top?.list.find((t) => t.id === id);
    actions.follow(store.state.target?.id === id ? null : found && { id, text: found.text });
  });

  function update(s) {
    const top = s.data.top;
    const token = s.run?.tokens[query(s)];
    if (!token) {
      setText(titleStart, 'What comes next');
      named.hidden = true;
      showItems(0, () => {});
      setText(sub, '');
      others.hidden = true;
      return;
    }
    const current = top && !top.failed && top.position === query(s);
    waits(!current);
    if (!current) return;
    setText(titleStart, 'What comes after ');
    named.hidden = false;
    showToken(named, token);
    const switched = s.run.off.length > 0;
    const clean = s.data.cleanTop?.position === top.position ? s.data.cleanTop.list : null;
    const followed = s.target ?? null;
    setText(
      sub,
      switched
        ? 'With the switches below; the mark on each bar is where it stood before.'
        : 'Of all the model’s tokens. Tap one to follow it.',
    );
    const rows = top.list.slice(0, SHOWN);
    const most = Math.max(rows[0]?.probability ?? 1, switched && clean ? clean[0].probability : 0, 1e-9);
    showItems(rows.length, ({ item, button, name, bar, mark, number, before }, i) => {
      const t = rows[i];
      const was = switched ? clean?.find((c) => c.id === t.id) : null;
      const isFollowed = followed?.id === t.id;
      setAttribute(item, 'data-id', t.id);
      setAttribute(item, 'data-value', t.probability);
      setAttribute(item, 'data-logit', t.logit);
      setAttribute(button, 'aria-pressed', String(isFollowed));
      setAttribute(button, 'title', isFollowed ? 'Stop following this token' : 'Follow this token');
      showToken(name, t);
      setStyle(bar, 'width', `${((t.probability / most) * 100).toFixed(2)}%`);
      mark.hidden = !was;
      if (was) setStyle(mark, 'left', `${((was.probability / most) * 100).toFixed(2)}%`);
      setText(number, format.share(t.probability));
      setText(before, was ? `, before ${format.share(was.probability)}` : '');
    });
    const listed = rows.reduce((sum, t) => sum + t.probability, 0);
    others.hidden = false;
    others.dataset.value = String(Math.max(0, 1 - listed));
    setText(othersName, `all ${format.count(s.run.shape.vocab - rows.length)} others together`);
    setText(othersNumber, format.share(Math.max(0, 1 - listed)));
  }
  store.subscribe((s, b) => {
    if (
      s.data.top !== b.data.top ||
      s.data.cleanTop !== b.data.cleanTop ||
      changed(s, b, ['run', 'hover', 'token', 'target'])
    )
      update(s);
  });
  update(store.state);
}
