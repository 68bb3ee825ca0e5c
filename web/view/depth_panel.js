// Owns: what the model would answer after each layer (logit lens), and the tokens by their best layer. Touches store only.

import { h, replaceChildren, setAttribute } from './dom.js';
import { tokenText } from './token_text.js';
import { bestLayers } from './ranking.js';
import { query } from '../app/selectors.js';
import * as format from './format.js';

const BEST = 12;

/** @param {HTMLElement} root @param {any} store */
export function depthPanel(root, store) {
  const layers = h('ol', {
    class: 'depth',
    'data-view': 'lens',
    tabindex: 0,
    'aria-label': 'First answers, layer by layer',
  });
  const best = h('ol', { class: 'bars with-note' });
  root.append(
    h('p', {
      class: 'note',
      text: 'The word’s state after each layer, read out as if the model ended there: the last norm with its scale computed anew, then the output head. Early layers are not made to be read this way; they are greyed.',
    }),
    h('h4', { text: 'Tokens by their best layer' }),
    best,
    h('h4', { text: 'First answers, layer by layer' }),
    layers,
  );

  function update(s) {
    const lens = s.data.lens;
    const current = lens && !lens.failed && s.run && lens.position === query(s);
    setAttribute(root, 'data-waiting', current ? null : '');
    if (!current) return;
    const count = lens.layers.length;
    replaceChildren(
      best,
      ...bestLayers(lens.layers)
        .slice(0, BEST)
        .map((t) => {
          const bar = h('i', { class: 'bar' });
          bar.style.width = `${t.probability * 100}%`;
          return h(
            'li',
            {},
            h('span', { class: 'bar-name' }, tokenText(t)),
            h('span', { class: 'bar-track' }, bar),
            h('span', { class: 'number', text: format.share(t.probability) }),
            h('span', { class: 'note', text: t.layer === 0 ? 'embedding' : `layer ${t.layer - 1}` }),
          );
        }),
    );
    replaceChildren(
      layers,
      ...lens.layers.map(({ layer, top }) =>
        h(
          'li',
          { 'data-lens': layer, class: layer < count / 3 ? 'early' : null },
          h('span', { class: 'note number', text: layer === 0 ? 'emb.' : String(layer - 1) }),
          ...top
            .slice(0, 3)
            .map((t) =>
              h(
                'span',
                { class: 'depth-token', 'data-id': t.id, 'data-value': t.probability },
                tokenText(t),
                h('small', { text: format.share(t.probability) }),
              ),
            ),
        ),
      ),
    );
  }
  store.subscribe((s, b) => {
    if (s.data.lens !== b.data.lens || s.run !== b.run || s.token !== b.token) update(s);
  });
}
