// Owns: the model's next tokens at the shown position, before and after what is switched off. Touches store and actions only.

import { h, setText, setAttribute, replaceChildren } from './dom.js';
import { tokenText } from './token_text.js';
import { query } from '../app/selectors.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

const SHOWN = 10;

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function nextList(root, store, actions) {
  const title = h('h2', {});
  const sub = h('p', { class: 'note' });
  const list = h('ol', { class: 'bars next', 'data-view': 'next', 'aria-label': 'Most probable next tokens' });
  const others = h('p', { class: 'next-others' });
  root.append(title, sub, list, others);

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
      setText(title, 'What comes next');
      replaceChildren(list);
      setText(sub, '');
      setText(others, '');
      return;
    }
    const current = top && !top.failed && top.position === query(s);
    setAttribute(root, 'data-waiting', current ? null : '');
    if (!current) return;
    replaceChildren(title, 'What comes after ', h('b', { class: 'named' }, tokenText(token)));
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
    replaceChildren(
      list,
      ...rows.map((t) => {
        const bar = h('i', { class: 'bar' });
        bar.style.width = `${(t.probability / most) * 100}%`;
        const was = switched ? clean?.find((c) => c.id === t.id) : null;
        const mark = was && h('i', { class: 'was' });
        if (mark) mark.style.left = `${(was.probability / most) * 100}%`;
        const isFollowed = followed?.id === t.id;
        return h(
          'li',
          { 'data-id': t.id, 'data-value': t.probability, 'data-logit': t.logit },
          h(
            'button',
            {
              type: 'button',
              class: 'follow',
              'aria-pressed': String(isFollowed),
              title: isFollowed ? 'Stop following this token' : 'Follow this token',
            },
            h('span', { class: 'bar-name' }, tokenText(t)),
            h('span', { class: 'bar-track' }, bar, mark),
            h(
              'span',
              { class: 'number' },
              format.share(t.probability),
              was && h('span', { class: 'visually-hidden', text: `, before ${format.share(was.probability)}` }),
            ),
          ),
        );
      }),
    );
    const listed = rows.reduce((sum, t) => sum + t.probability, 0);
    others.dataset.value = String(Math.max(0, 1 - listed));
    replaceChildren(
      others,
      h('span', { text: `all ${format.count(s.run.shape.vocab - rows.length)} others together` }),
      h('span', { class: 'number', text: format.share(Math.max(0, 1 - listed)) }),
    );
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
