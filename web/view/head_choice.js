// Owns: choosing layer and head by name, or all of them averaged, and the sink that can be set aside. Touches store and actions only.

import { h, setAttribute } from './dom.js';
import { byHand } from './by_hand.js';
import { changed } from '../app/store.js';

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function headChoice(root, store, actions) {
  const layer = h('select', { id: 'layer', class: 'field', onchange: (e) => actions.setLayer(Number(e.target.value)) });
  const head = h('select', { id: 'head', class: 'field', onchange: (e) => actions.setHead(Number(e.target.value)) });
  const averaged = h('input', {
    type: 'checkbox',
    id: 'averaged',
    onchange: (e) => actions.setAveraged(e.target.checked),
  });
  const caution = h('p', {
    class: 'caution',
    hidden: true,
    text: 'An average over all heads hides what single heads do: most of it is the first token, and heads that look at quite different words cancel into a blur. One head alone is no explanation either: a large share is not a large effect.',
  });
  root.append(
    h(
      'div',
      { class: 'row head-choice' },
      h('label', { class: 'row' }, 'layer ', layer),
      h('label', { class: 'row' }, 'head ', head),
      h('label', { class: 'row check' }, averaged, 'all heads, averaged'),
    ),
    caution,
    byHand(['toy', 'what a head that learnt nothing does'], ['order', 'how words know their order']),
  );

  let shape = { layers: 0, heads: 0 };
  const options = (n) => Array.from({ length: n }, (_, i) => h('option', { value: i, text: String(i) }));
  function update(s) {
    const { layers, heads } = s.run?.shape ?? { layers: 30, heads: 9 };
    if (layers !== shape.layers || heads !== shape.heads) {
      shape = { layers, heads };
      layer.replaceChildren(...options(layers));
      head.replaceChildren(...options(heads));
    }
    layer.value = String(Math.min(s.layer, layers - 1));
    head.value = String(Math.min(s.head ?? s.lastHead, heads - 1));
    layer.disabled = head.disabled = s.head === null;
    averaged.checked = s.head === null;
    caution.hidden = s.head !== null;
    setAttribute(root, 'data-averaged', s.head === null ? '' : null);
  }
  store.subscribe((s, before) => changed(s, before, ['layer', 'head', 'run']) && update(s));
  update(store.state);
}
