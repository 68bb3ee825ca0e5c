// Owns: choosing weights: shipped, from the hub, a file (picked or dropped), an address; and what is known of the loaded ones. Touches store and actions only.

import { h, replaceChildren, setAttribute } from './dom.js';
import { namedSources } from '../app/sources.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions @returns {{open: () => void}} */
export function modelsDialog(root, store, actions) {
  const list = h('div', { class: 'stack' });
  const address = h('input', {
    type: 'text',
    inputmode: 'url',
    class: 'field grow',
    id: 'model-address',
    placeholder: 'https://…/model.gguf',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const files = h('input', {
    type: 'file',
    id: 'model-files',
    multiple: true,
    class: 'visually-hidden',
    accept: '.gguf,.safetensors,.onnx,.json,.onnx_data,.data',
  });
  const said = h('p', { class: 'note', role: 'status' });
  const precision = h(
    'select',
    { class: 'field', id: 'precision' },
    h('option', { value: 'exact', text: 'exact: 32-bit arithmetic' }),
    h('option', { value: 'fast', text: 'fast: activations rounded to 16 bits' }),
  );
  const card = h('dl', { class: 'facts' });
  const drop = h(
    'label',
    { class: 'drop', for: 'model-files' },
    h('b', { text: 'A file from this device' }),
    h('span', {
      class: 'note',
      text: 'GGUF, safetensors or ONNX; pick or drop it here. Safetensors and ONNX need config.json and tokenizer.json picked together with them. Nothing is sent anywhere.',
    }),
  );
  const dialog = /** @type {HTMLDialogElement} */ (
    h(
      'dialog',
      { class: 'sheet', 'aria-labelledby': 'models-title' },
      h(
        'div',
        { class: 'row' },
        h('h2', { id: 'models-title', text: 'Weights' }),
        h('button', { type: 'button', class: 'button push', text: 'Close', onclick: () => dialog.close() }),
      ),
      h('label', { class: 'row' }, 'arithmetic ', precision),
      list,
      files,
      drop,
      h(
        'form',
        {
          class: 'stack tight',
          onsubmit: (event) => {
            event.preventDefault();
            const value = address.value.trim();
            if (!value) return;
            try {
              go(() => actions.loadAddress(value));
            } catch {
              said.textContent = `“${value}” is no address.`;
            }
          },
        },
        h('label', { for: 'model-address' }, h('b', { text: 'An address' })),
        h('div', { class: 'row' }, address, h('button', { type: 'submit', class: 'button', text: 'Load' })),
        h('p', {
          class: 'note',
          text: 'The one case in which this page talks to another host: its server then sees that you asked for the file.',
        }),
      ),
      said,
      h('h3', { text: 'Loaded now' }),
      card,
    )
  );
  root.append(dialog);

  function go(start) {
    said.textContent = '';
    start();
    dialog.close();
  }
  precision.addEventListener('change', () => {
    const s = store.state;
    if (s.info && precision.value !== s.precision) go(() => actions.load(s.source, { precision: precision.value }));
  });
  const take = (chosen) => {
    const picked = [...chosen];
    if (picked.length === 0) return;
    if (actions.loadFiles(picked)) dialog.close();
    else said.textContent = 'None of these files holds weights (.gguf, .safetensors or .onnx).';
  };
  files.addEventListener('change', () => take(files.files));
  // A file may be dropped anywhere on the page; without this the browser would leave the page and open it.
  for (const type of ['dragover', 'dragenter']) {
    addEventListener(type, (event) => {
      const carried = /** @type {DragEvent} */ (event).dataTransfer?.types ?? [];
      if (!Array.from(carried).includes('Files')) return;
      event.preventDefault();
      setAttribute(drop, 'data-over', '');
    });
  }
  addEventListener('dragleave', () => setAttribute(drop, 'data-over', null));
  addEventListener('drop', (event) => {
    setAttribute(drop, 'data-over', null);
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });

  function update(s) {
    precision.value = s.precision;
    replaceChildren(
      list,
      ...namedSources(document.baseURI).map((source) =>
        h(
          'button',
          {
            type: 'button',
            class: 'choice',
            'aria-pressed': String(s.source.id === source.id),
            'data-model': source.id,
            onclick: () => go(() => actions.load(source)),
          },
          h('b', { text: source.name }),
          h('span', { class: 'note', text: source.detail }),
        ),
      ),
    );
    const { info } = s;
    if (!info) {
      replaceChildren(
        card,
        h(
          'div',
          {},
          h('dt', { text: 'state' }),
          h('dd', { text: s.load.status === 'loading' ? 'loading…' : 'nothing loaded' }),
        ),
      );
      return;
    }
    const w = info.weights;
    const facts = [
      ['file', String(w.source ?? s.source.name)],
      [
        'SHA-256',
        `${w.sha256 ?? 'not known'}${w.verified === 'recorded' ? ' (computed here)' : w.verified ? ` (verified: ${w.verified})` : ''}`,
      ],
      ['size', `${format.bytes(w.bytes)} as ${w.format}, ${w.dtypes.join(', ')}`],
      [
        'network',
        `${info.architecture}: ${info.layers} layers × ${info.heads} heads (${info.kvHeads} key/value), ${info.headDim} slots a head, width ${info.hidden}, feed-forward ${info.feedForward}`,
      ],
      ['vocabulary', format.count(info.vocab)],
      ['parameters', format.count(info.parameters)],
      ['context', `${format.count(info.contextLength)} tokens`],
      [
        'runs as',
        `${info.variant}, ${info.precision}, ${info.threads} thread${info.threads === 1 ? '' : 's'}: ${info.threadsReason}`,
      ],
      ['memory', format.bytes(info.memoryBytes)],
      [
        'kept',
        w.stored === 'none'
          ? (w.storedReason ?? 'not kept in this browser')
          : w.stored
            ? `in this browser (${w.stored}), for the next visit`
            : '',
      ],
    ];
    replaceChildren(
      card,
      ...facts.filter(([, v]) => v).map(([k, v]) => h('div', {}, h('dt', { text: k }), h('dd', { text: v }))),
    );
  }
  store.subscribe((s, b) => changed(s, b, ['info', 'source', 'precision', 'load']) && dialog.open && update(s));

  return {
    open() {
      update(store.state);
      dialog.showModal();
    },
  };
}
