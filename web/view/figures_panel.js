// Owns: the article's measured claims beside the same figures on the loaded weights. Touches store and actions only.

import { h, replaceChildren, setText } from './dom.js';
import { byHand } from './by_hand.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

/** Counts stay counts; shares and probabilities print as the article prints them. */
function print(row, value) {
  if (typeof value !== 'number') return value === null || value === undefined ? '–' : String(value);
  if (Number.isInteger(value) && value > 1) return format.count(value);
  return format.share(value);
}

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function figuresPanel(root, store, actions) {
  const run = h('button', {
    type: 'button',
    class: 'button',
    'data-action': 'figures',
    text: 'Compute all figures',
    onclick: () => actions.jobs.figures(),
  });
  const stop = h('button', {
    type: 'button',
    class: 'quiet',
    text: 'Cancel',
    onclick: () => actions.jobs.cancel('figures'),
  });
  const said = h('span', { class: 'note' });
  const body = h('tbody', {});
  const table = h(
    'table',
    { class: 'plain article-figures', 'data-view': 'figures', hidden: true },
    h('caption', { class: 'visually-hidden', text: 'Figures of the article and of the loaded weights' }),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col', text: 'what' }),
        h('th', { scope: 'col', class: 'number', text: 'article' }),
        h('th', { scope: 'col', class: 'number', text: 'here' }),
      ),
    ),
    body,
  );
  root.append(
    h('p', {
      class: 'note',
      text: 'Every measured claim of the article, computed anew on the loaded weights. The article measured the base model in 32-bit arithmetic; other weights give other numbers, and each row says exactly what was computed.',
    }),
    h('div', { class: 'row' }, run, stop, said),
    table,
    byHand(['shapes', 'shapes and counts of two models'], ['floor', 'what context is worth, without a model']),
  );

  function update(s) {
    const f = s.figures;
    run.disabled = !s.info || f?.status === 'running';
    stop.hidden = f?.status !== 'running';
    setText(
      said,
      !f
        ? ''
        : f.status === 'running'
          ? 'running the article’s prompts…'
          : f.status === 'failed'
            ? f.message
            : f.status === 'cancelled'
              ? 'stopped'
              : `on ${s.source.name}`,
    );
    table.hidden = !f?.rows.length;
    if (!f) return;
    replaceChildren(
      body,
      ...f.rows.map((row) =>
        h(
          'tr',
          { 'data-key': row.key },
          h('th', { scope: 'row' }, h('span', { text: row.definition }), h('small', { class: 'note', text: row.key })),
          h('td', { class: 'number', text: print(row, row.article) }),
          h('td', {
            class: 'number',
            'data-column': 'here',
            'data-value': typeof row.here === 'number' ? row.here : null,
            text: print(row, row.here),
          }),
        ),
      ),
    );
  }
  store.subscribe((s, b) => changed(s, b, ['figures', 'info', 'source']) && update(s));
  update(store.state);
}
