// Owns: copying on the shown text: which heads look at what came next last time, and what the predictions are without them. Touches store and actions only.

import { h, replaceChildren, setText } from './dom.js';
import { tokenText } from './token_text.js';
import { repeatedPositions, strongestBy } from '../app/measure_copying.js';
import { shortHead } from '../app/selectors.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function copyingPanel(root, store, actions) {
  const intro = h('p', {});
  const heads = h('ol', { class: 'bars', 'data-view': 'copying-heads' });
  const measure = h('button', {
    type: 'button',
    class: 'button',
    text: 'Predict with and without them',
    onclick: () => actions.jobs.copying(),
  });
  const stop = h('button', {
    type: 'button',
    class: 'quiet',
    text: 'Cancel',
    onclick: () => actions.jobs.cancel('copying'),
  });
  const said = h('span', { class: 'note' });
  const results = h('ol', { class: 'bars wide', 'data-view': 'copying' });
  root.append(
    h('p', {
      class: 'note',
      text: 'When a word comes back, some heads look at what followed it last time (copying, or induction, heads). The list ranks them on this very text; the bars show the mean probability of the word that really follows.',
    }),
    intro,
    heads,
    h('div', { class: 'row' }, measure, stop, said),
    results,
  );

  function describe(s) {
    const stats = s.data.heads?.list;
    const run = s.clean;
    if (!run) {
      setText(intro, '');
      replaceChildren(heads);
      return;
    }
    const { second } = repeatedPositions(run.tokens);
    const words = second.slice(0, 8).map((t) => h('b', { class: 'named' }, tokenText(run.tokens[t])));
    if (second.length === 0) {
      setText(
        intro,
        'No token of this text comes back with another one after it. Write a list of words twice, or tap the example “words”.',
      );
      replaceChildren(heads);
      measure.disabled = true;
      return;
    }
    replaceChildren(
      intro,
      `${second.length} token${second.length === 1 ? '' : 's'} come${second.length === 1 ? 's' : ''} back: `,
      ...words.flatMap((w) => [w, ' ']),
      second.length > 8 ? '…' : '',
    );
    measure.disabled = run.stored || s.copying?.status === 'running';
    if (!stats) return;
    const best = strongestBy(stats, 'induction', 6);
    replaceChildren(
      heads,
      ...best.map(({ layer, head, value }) => {
        const bar = h('i', { class: 'bar' });
        bar.style.width = `${value * 100}%`;
        return h(
          'li',
          { 'data-value': value },
          h('button', {
            type: 'button',
            class: 'quiet bar-name',
            text: shortHead(layer, head),
            'aria-label': `${shortHead(layer, head)}: open layer ${layer}, head ${head}`,
            onclick: () => actions.goToHead(layer, head),
          }),
          h('span', { class: 'bar-track' }, bar),
          h('span', { class: 'number', text: format.share(value) }),
        );
      }),
    );
  }
  function update(s) {
    const c = s.copying;
    stop.hidden = c?.status !== 'running';
    setText(
      said,
      !c ? '' : c.status === 'running' ? 'running the text again…' : c.status === 'failed' ? c.message : '',
    );
    if (!c || c.runId !== s.clean?.id) return replaceChildren(results);
    replaceChildren(
      results,
      ...c.rows.map((r) => {
        const bar = h('i', { class: 'bar' });
        bar.style.width = `${(r.mean ?? 0) * 100}%`;
        return h(
          'li',
          { 'data-value': r.mean },
          h(
            'span',
            { class: 'bar-name' },
            r.label,
            r.off.length
              ? h('small', { class: 'note', text: ` ${r.off.map((o) => shortHead(o.layer, o.head)).join(' ')}` })
              : null,
          ),
          h('span', { class: 'bar-track' }, bar),
          h('span', { class: 'number', text: format.share(r.mean ?? NaN) }),
          r.off.length
            ? h('button', {
                type: 'button',
                class: 'quiet',
                text: 'switch off above',
                'aria-label': `switch off above: ${r.label}`,
                onclick: () => actions.setOff(r.off),
              })
            : h('span', {}),
        );
      }),
    );
  }
  store.subscribe((s, b) => {
    if (s.data.heads !== b.data.heads || changed(s, b, ['clean', 'copying'])) describe(s);
    if (changed(s, b, ['copying', 'clean'])) update(s);
  });
  describe(store.state);
  update(store.state);
}
