// Owns: who wrote the answer: the followed token's score, split exactly over embedding, heads and feed-forward steps. Touches store and actions only.

import { h, replaceChildren, setAttribute } from './dom.js';
import { tokenText } from './token_text.js';
import { query, target, shortHead } from '../app/selectors.js';
import * as format from './format.js';

const SHOWN = 12;

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function writersPanel(root, store, actions) {
  const heading = h('p', {});
  const list = h('ol', { class: 'bars writers', 'data-view': 'writers' });
  const sums = h('p', { class: 'note' });
  root.append(
    h('p', {
      class: 'note',
      text: 'The score of the followed token is a plain sum: embedding, every head, every feed-forward step. Each part is shown with its mean over all tokens taken off, since what raises all tokens alike decides nothing.',
    }),
    heading,
    list,
    sums,
    h(
      'div',
      { class: 'row' },
      h('button', {
        type: 'button',
        class: 'button',
        text: 'Shade the atlas by this',
        onclick: () => actions.setShade('wrote'),
      }),
    ),
  );

  function update(s) {
    const a = s.data.attribution;
    const t = target(s);
    const current = a && !a.failed && s.run && a.position === query(s) && (!t || a.id === t.id);
    setAttribute(root, 'data-waiting', current ? null : '');
    if (!current) return;
    const { heads: perLayer } = s.run.shape;
    const parts = [
      { name: 'embedding', value: a.embedding, layer: null, head: null },
      ...Array.from(a.heads, (value, i) => ({
        name: shortHead(Math.floor(i / perLayer), i % perLayer),
        value,
        layer: Math.floor(i / perLayer),
        head: i % perLayer,
      })),
      ...Array.from(a.mlps, (value, i) => ({ name: `feed-forward ${i}`, value, layer: i, head: null })),
    ];
    const sum = (list) => list.reduce((total, p) => total + p.value, 0);
    const all = sum(parts);
    const ranked = [...parts].sort((x, y) => Math.abs(y.value) - Math.abs(x.value)).slice(0, SHOWN);
    const limit = Math.max(1e-9, ...ranked.map((p) => Math.abs(p.value)));
    replaceChildren(
      heading,
      h('b', {}, tokenText({ text: a.text || `#${a.id}` })),
      ' after token ',
      String(a.position),
      ': ',
      h('b', { 'data-value': all, text: format.change(all) }),
      ' over the mean token',
    );
    replaceChildren(
      list,
      ...ranked.map((p) => {
        const bar = h('i', { class: `bar ${p.value < 0 ? 'minus' : 'plus'}` });
        const size = (Math.abs(p.value) / limit) * 50;
        Object.assign(bar.style, { left: `${p.value < 0 ? 50 - size : 50}%`, width: `${size}%` });
        const name =
          p.head === null
            ? h('span', { class: 'bar-name', text: p.name })
            : h('button', {
                type: 'button',
                class: 'quiet bar-name',
                text: p.name,
                'aria-label': `${p.name}: open layer ${p.layer}, head ${p.head}`,
                onclick: () => actions.goToHead(p.layer, p.head),
              });
        return h(
          'li',
          { 'data-part': p.name, 'data-value': p.value },
          name,
          h('span', { class: 'bar-track centred' }, bar),
          h('span', { class: 'number', text: format.change(p.value) }),
        );
      }),
    );
    const heads = sum(parts.filter((p) => p.head !== null));
    const mlps = sum(parts.filter((p) => p.head === null && p.layer !== null));
    sums.textContent = `All ${parts.length} parts: embedding ${format.change(a.embedding)}, heads ${format.change(heads)}, feed-forward ${format.change(mlps)}; together ${format.change(all)}. Bars end at ±${format.signed(limit)}.`;
  }
  store.subscribe((s, b) => {
    if (s.data.attribution !== b.data.attribution || s.run !== b.run || s.token !== b.token || s.target !== b.target)
      update(s);
  });
}
