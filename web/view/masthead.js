// Owns: theme, link and save in the page's head. Touches store and actions only.

import { h } from './dom.js';
import { saveDialog } from './save_dialog.js';

/** @param {HTMLElement} root @param {HTMLElement} dialogs @param {any} store @param {import('../app/actions.js').Actions} actions */
export function masthead(root, dialogs, store, actions) {
  const theme = h(
    'select',
    { class: 'field', id: 'theme', 'aria-label': 'Theme', onchange: (e) => actions.setTheme(e.target.value || null) },
    h('option', { value: '', text: 'auto' }),
    h('option', { value: 'light', text: 'light' }),
    h('option', { value: 'dark', text: 'dark' }),
  );
  const copy = h('button', { type: 'button', class: 'quiet', text: 'Copy link' });
  copy.addEventListener('click', async () => {
    // The address is written a moment after the last change; a link copied at once must hold that change too.
    await new Promise((done) => setTimeout(done, 150));
    try {
      await navigator.clipboard.writeText(location.href);
      actions.say('The link to this view is copied.');
      copy.textContent = 'Copied';
    } catch {
      actions.say('The browser did not allow copying; the address bar holds the same link.');
      copy.textContent = 'See address';
    }
    setTimeout(() => (copy.textContent = 'Copy link'), 1500);
  });
  const save = saveDialog(dialogs, store, actions);
  root.append(copy, h('button', { type: 'button', class: 'quiet', text: 'Save…', onclick: () => save.open() }), theme);
  const update = (s) => (theme.value = s.themeChoice ?? '');
  store.subscribe(update);
  update(store.state);
}
