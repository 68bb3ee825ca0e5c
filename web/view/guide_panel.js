// Owns: walking through the guided example. Touches store and actions only.

import { h, setText, setAttribute } from './dom.js';
import { STEPS } from '../app/guide_steps.js';
import { changed } from '../app/store.js';

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function guidePanel(root, store, actions) {
  const start = h('button', {
    type: 'button',
    class: 'button primary',
    'data-action': 'guide-start',
    text: 'Start',
    onclick: () => actions.guide(0),
  });
  const title = h('h3', {});
  const text = h('p', { class: 'guide-text', 'aria-live': 'polite' });
  const back = h('button', {
    type: 'button',
    class: 'button',
    text: 'Back',
    onclick: () => actions.guide(store.state.guide - 1),
  });
  const next = h('button', {
    type: 'button',
    class: 'button primary',
    'data-action': 'guide-next',
    text: 'Next',
    onclick: () => actions.guide(store.state.guide + 1),
  });
  const close = h('button', { type: 'button', class: 'quiet', text: 'Close', onclick: () => actions.guide(null) });
  const count = h('span', { class: 'note' });
  const idle = h(
    'div',
    { class: 'row' },
    h(
      'p',
      { class: 'grow' },
      h('b', { text: 'Guided example. ' }),
      'Does the head that looks at “cloud” write “cloud”? Six steps, with the numbers of the loaded weights.',
    ),
    start,
  );
  const steps = h(
    'div',
    { class: 'stack tight', 'data-view': 'guide' },
    h('div', { class: 'row' }, title, count, close),
    text,
    h('div', { class: 'row' }, back, next),
  );
  close.classList.add('push');
  root.append(idle, steps);

  function update(s) {
    const on = s.guide !== null;
    idle.hidden = on;
    steps.hidden = !on;
    setAttribute(root, 'data-on', on ? '' : null);
    start.disabled = s.load.status !== 'ready';
    if (!on) return;
    const step = STEPS[s.guide];
    setText(title, step.title);
    setText(count, `${s.guide + 1} of ${STEPS.length}`);
    setText(text, step.say(s));
    back.disabled = s.guide === 0;
    next.hidden = s.guide === STEPS.length - 1;
  }
  store.subscribe((s, b) => (s.guide !== null || b.guide !== null || changed(s, b, ['load'])) && update(s));
  update(store.state);
}
