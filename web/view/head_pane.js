// Owns: the open head: its whole pattern, its statistics on this text, switching it off. Touches store and actions only.

import { h, setText, setAttribute, replaceChildren } from './dom.js';
import { patternCanvas } from './pattern_canvas.js';
import { shareLegend } from './legend.js';
import { STATISTICS, rankOf } from './ranking.js';
import { shownToken } from './visible_text.js';
import { shownHead, query, headIsOff, headName } from '../app/selectors.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function headPane(root, store, actions) {
  const title = h('h2', {});
  const switchOff = h('button', { type: 'button', class: 'button', 'data-action': 'switch-head' });
  const enlarge = h('button', { type: 'button', class: 'button', text: 'Enlarge' });
  const statistics = h('dl', { class: 'statistics' });
  const once = h('p', {
    class: 'note',
    text: 'On this text. A head seen on one text rarely tells what it does on others.',
  });
  const gone = h('p', {
    class: 'caution',
    hidden: true,
    text: 'This head is off: its pattern is still what it would look at, but nothing of it is written.',
  });

  const describe = (row, column) => {
    const s = store.state;
    const p = s.data.pattern;
    if (!p || p.failed || p.n !== s.run?.tokens.length) return '';
    const from = shownToken(s.run.tokens[row]);
    const to = shownToken(s.run.tokens[column]);
    if (column > row) return `${from} (${row}) cannot look at ${to} (${column}): it comes later`;
    return `${from} (${row}) looks at ${to} (${column}): ${format.share(p.values[row * p.n + column])}`;
  };
  const pick = (row) => actions.goToToken(row);
  const small = patternCanvas({
    label:
      'Pattern of the head: a row is the word that looks, a column the word looked at. Arrow keys walk, Enter pins the row.',
    onPick: pick,
    describe,
  });
  const large = patternCanvas({ label: 'The same pattern, enlarged', onPick: pick, describe });
  const largeTitle = h('h2', {});
  const largeLegend = h('div', {});
  const dialog = /** @type {HTMLDialogElement} */ (
    h(
      'dialog',
      { class: 'enlarged', 'aria-label': 'The pattern, enlarged' },
      h(
        'div',
        { class: 'row' },
        largeTitle,
        h('button', { type: 'button', class: 'button push', text: 'Close', onclick: () => dialog.close() }),
      ),
      large.frame,
      large.said,
      largeLegend,
    )
  );
  enlarge.addEventListener('click', () => {
    dialog.showModal();
    draw(store.state);
  });
  switchOff.addEventListener('click', () => {
    const { layer, head } = shownHead(store.state);
    if (head !== null) actions.toggleOff({ layer, head });
  });
  root.append(
    h('div', { class: 'row' }, title, h('div', { class: 'row push' }, switchOff, enlarge)),
    gone,
    h(
      'div',
      { class: 'head-body' },
      h(
        'div',
        { class: 'stack tight' },
        h(
          'div',
          { class: 'pattern-axes' },
          h('span', { class: 'note', text: 'looks ↓' }),
          h('span', { class: 'note', text: 'is looked at →' }),
        ),
        small.frame,
        small.said,
      ),
      h('div', { class: 'stack tight' }, statistics, once),
    ),
    dialog,
  );

  function draw(s) {
    const p = s.data.pattern;
    if (!p || p.failed || !s.run || p.n !== s.run.tokens.length) return;
    const view = { aside: s.aside, theme: s.theme };
    small.draw(p.values, p.n, view);
    small.outline(query(s));
    if (dialog.open) {
      large.draw(p.values, p.n, view);
      large.outline(query(s));
      replaceChildren(largeLegend, shareLegend(s.theme));
    }
  }

  function describeHead(s) {
    const { layer, head } = shownHead(s);
    const name = headName(layer, head);
    const text = name[0].toUpperCase() + name.slice(1);
    setText(title, text);
    setText(largeTitle, text);
    const off = head !== null && headIsOff(s, layer, head);
    switchOff.disabled = head === null || !s.run || s.run.stored;
    setText(switchOff, off ? 'Switch it on' : 'Switch it off');
    setAttribute(switchOff, 'aria-pressed', String(off));
    setAttribute(
      switchOff,
      'title',
      s.run?.stored
        ? 'This needs the weights; they are on their way.'
        : 'Zeroes what this head writes, at every position',
    );
    gone.hidden = !off;
    once.hidden = head === null;
    const rows = s.data.heads?.list;
    if (!s.run || head === null || !rows || rows.length !== s.run.shape.layers * s.run.shape.heads) {
      replaceChildren(statistics);
      return;
    }
    const index = layer * s.run.shape.heads + head;
    replaceChildren(
      statistics,
      ...STATISTICS.map(({ key, name: statistic, definition }) => {
        const values = rows.map((r) => r[key]);
        const value = values[index];
        const rank = rankOf(values, index);
        const number =
          value === null || !Number.isFinite(value)
            ? 'no word qualifies'
            : key === 'entropy'
              ? `${format.decimal(value, 2)} nats`
              : format.share(value);
        return h(
          'div',
          {},
          h(
            'dt',
            {},
            h('button', {
              type: 'button',
              class: 'quiet term',
              text: statistic,
              title: `${definition} Tap to shade the atlas by it.`,
              onclick: () => actions.setShade(key),
            }),
          ),
          h('dd', {
            class: rank === null ? 'number nothing' : 'number',
            'data-statistic': key,
            'data-value': Number.isFinite(value) && value !== null ? value : null,
            text: number,
          }),
          rank !== null && h('dd', { class: 'note number', text: `${rank} of ${values.length}` }),
        );
      }),
    );
  }

  store.subscribe((s, before) => {
    if (s.data.pattern !== before.data.pattern || changed(s, before, ['aside', 'theme', 'run'])) draw(s);
    else if (query(s) !== query(before)) for (const view of [small, large]) view.outline(query(s));
    if (s.data.heads !== before.data.heads || changed(s, before, ['layer', 'head', 'previewHead', 'off', 'run']))
      describeHead(s);
  });
  describeHead(store.state);
}
