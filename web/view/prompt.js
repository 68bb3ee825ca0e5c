// Owns: the text field and the examples beside it. Touches store and actions only.

import { h, setAttribute, setText } from './dom.js';
import { EXAMPLES, MORE_EXAMPLES } from '../app/examples.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function prompt(root, store, actions) {
  const field = /** @type {HTMLTextAreaElement} */ (
    h('textarea', {
      id: 'prompt',
      class: 'field prompt',
      rows: 2,
      spellcheck: 'false',
      autocapitalize: 'off',
      autocomplete: 'off',
      'aria-describedby': 'prompt-status',
    })
  );
  field.value = store.state.text;
  field.addEventListener('input', () => actions.type(field.value));
  field.addEventListener('keydown', (event) => event.stopPropagation());

  const tap = (e) =>
    h('button', {
      type: 'button',
      class: 'quiet example',
      'data-example': e.name,
      title: e.text,
      text: e.label,
      onclick: () => actions.example(e.name),
    });
  const stored = EXAMPLES.map(tap);
  const more = MORE_EXAMPLES.map(tap);
  const status = h('span', { id: 'prompt-status', class: 'note' });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });

  root.append(
    h(
      'div',
      { class: 'row prompt-head' },
      h('label', { for: 'prompt', class: 'prompt-label', text: 'Your text' }),
      status,
      h(
        'div',
        { class: 'row examples', role: 'group', 'aria-label': 'Examples' },
        h('span', { class: 'note', text: 'examples' }),
        ...stored,
        ...more,
      ),
    ),
    field,
    problem,
  );

  function update(s) {
    // The field shows what is run; while the reader types they are the same, and the caret stays.
    if (field.value !== s.text.replace(/\r\n?/g, '\n')) field.value = s.text;
    for (const button of [...stored, ...more]) {
      const e = [...EXAMPLES, ...MORE_EXAMPLES].find((x) => x.name === button.dataset.example);
      setAttribute(button, 'aria-pressed', String(e?.text === s.text));
    }
    const parts = [];
    if (s.run && s.run.text === s.text) {
      parts.push(`${format.count(s.run.tokens.length)} tokens`);
      if (s.run.stored) parts.push('stored run, until the weights are in');
      else parts.push(`one pass ${format.duration(s.run.ms)}`);
    } else if (s.text !== '' && !s.problem)
      parts.push(s.load.status === 'ready' ? 'reading…' : 'runs when the weights are in');
    setText(status, parts.join(' · '));
    setAttribute(status, 'data-stored', s.run?.stored ? '' : null);
    problem.hidden = !s.problem;
    setText(problem, s.problem ?? '');
  }
  store.subscribe((s, before) => changed(s, before, ['text', 'run', 'running', 'problem', 'load']) && update(s));
  update(store.state);
}
