// Owns: the line that names the weights, and shows how loading goes or what went wrong. Touches store and actions only.

import { h, replaceChildren, setText, setAttribute, setStyle } from './dom.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

const PHASES = {
  download: 'Downloading the weights',
  verify: 'Verifying the weights',
  'read-from-cache': 'Reading the weights kept from an earlier visit',
  prepare: 'Preparing the model',
};

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions @param {{open: () => void}} dialog */
export function loadStatus(root, store, actions, dialog) {
  const text = h('span', { class: 'load-text' });
  const bar = h(
    'div',
    {
      class: 'load-bar',
      role: 'progressbar',
      'aria-label': 'Loading the weights',
      'aria-valuemin': 0,
      'aria-valuemax': 100,
    },
    h('i', {}),
  );
  const buttons = h('span', { class: 'row load-buttons' });
  const ask = h('div', { class: 'caution row', hidden: true });
  root.append(h('div', { class: 'load-line' }, text, buttons), bar, ask);

  const button = (label, act, kind = 'quiet') =>
    h('button', { type: 'button', class: kind, text: label, onclick: act });
  const change = () => button('Change weights', () => dialog.open());

  function loading({ phase = 'download', loaded = 0, total, rate }) {
    const known = total !== null && total !== undefined && total > 0;
    const parts = [PHASES[phase] ?? 'Loading the weights'];
    if (phase !== 'prepare' && loaded > 0)
      parts.push(known ? `${format.bytes(loaded)} of ${format.bytes(total)}` : format.bytes(loaded));
    if (rate && phase !== 'prepare') parts.push(`${format.bytes(rate)}/s`);
    setText(text, parts.join(' · '));
    setAttribute(bar, 'aria-valuenow', known ? Math.floor((loaded / total) * 100) : null);
    setAttribute(bar, 'data-unknown', known ? null : '');
    setStyle(/** @type {HTMLElement} */ (bar.firstChild), 'width', known ? `${(loaded / total) * 100}%` : '');
  }

  function ready(s) {
    const { info } = s;
    const dtype = info.weights.dtypes.join(' + ');
    replaceChildren(
      text,
      h('b', { text: s.source.name }),
      ` · ${dtype} · ${info.precision} arithmetic · ${info.threads === 1 ? 'one thread' : `${info.threads} threads`} · `,
      h('code', {
        class: 'hash',
        title: `SHA-256 ${info.weights.sha256 ?? 'not known'}`,
        text: info.weights.sha256 ? info.weights.sha256.slice(0, 10) : 'no hash',
      }),
    );
  }

  let status = '';
  function update(s) {
    const { load } = s;
    setAttribute(root, 'data-status', load.status);
    // Its place stays when it is done, so that nothing below moves.
    setStyle(bar, 'visibility', load.status === 'loading' ? 'visible' : 'hidden');
    if (load.status === 'loading') loading(load);
    else if (load.status === 'ready' && s.info) ready(s);
    else if (load.status === 'error') setText(text, load.message);
    else if (load.status === 'none') setText(text, 'Loading was cancelled; stored runs can still be read.');
    if (load.status === status) return;
    status = load.status;
    if (status === 'loading')
      replaceChildren(
        buttons,
        button('Cancel', () => actions.cancelLoad()),
        change(),
      );
    else if (status === 'ready') replaceChildren(buttons, change());
    else
      replaceChildren(
        buttons,
        button('Try again', () => actions.retryLoad(), 'button primary'),
        change(),
      );
    setAttribute(text, 'role', status === 'error' ? 'alert' : null);
  }

  function updateAsk(s) {
    ask.hidden = !s.linkAsks && !s.lostFile;
    if (s.linkAsks) {
      const source = s.linkAsks;
      replaceChildren(
        ask,
        h('span', {
          text: `This link was made with other weights, from ${new URL(source.address).host}: ${source.name}. Numbers differ between weights.`,
        }),
        button('Load them', () => actions.load(source), 'button'),
        button('Keep the shipped ones', () => actions.dismiss('linkAsks')),
      );
    } else if (s.lostFile) {
      replaceChildren(
        ask,
        h('span', {
          text: `This link was made with the file ${s.lostFile}, which only its owner has. The shipped weights are used; their numbers differ.`,
        }),
        button('Pick the file', () => dialog.open()),
        button('Close', () => actions.dismiss('lostFile')),
      );
    }
  }

  store.subscribe((s, before) => {
    if (changed(s, before, ['load', 'info', 'source'])) update(s);
    if (changed(s, before, ['linkAsks', 'lostFile'])) updateAsk(s);
  });
  update(store.state);
  updateAsk(store.state);
}
