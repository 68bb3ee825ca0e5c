// Owns: the page's address, which holds the whole view. May touch: the window's location and history. Start at keepAddress.

import { afterFrame } from './after_frame.js';
import { decodeLink, encodeLink } from './link_state.js';

// Browsers refuse more than about a hundred changes of the address in ten seconds.
const BETWEEN_WRITES_MS = 120;

/**
 * Writes the view into the address after the frame that shows it, at most once in BETWEEN_WRITES_MS and without making history, and calls back
 * with the view of an address that the reader put there. While the address is behind the view, <html> carries data-address-behind.
 * @param {{state: any, subscribe: (listener: (state: any) => void) => void}} store
 * @param {(view: import('./link_state.js').LinkView) => void} onLink
 */
export function keepAddress(store, onLink) {
  let planned = false;
  let last = -Infinity;
  let known = location.hash;
  const behind = (yes) => document.documentElement.toggleAttribute('data-address-behind', yes);

  function write() {
    planned = false;
    behind(false);
    if (location.hash !== known) return; // the reader has just put another link there, and its event is on the way
    const { text, layer, head, token, off, shade, sort, aside, words, source, target } = store.state;
    const model = source.id === 'instruct' ? undefined : source.id;
    const hash = `#${encodeLink({ text, layer, head, token, off, shade, sort, aside, words, model, target: target ? String(target.id) : undefined })}`;
    if (hash === known) return;
    history.replaceState(null, '', hash);
    known = location.hash;
    last = performance.now();
  }

  store.subscribe(() => {
    if (planned) return;
    planned = true;
    behind(true);
    const rest = last + BETWEEN_WRITES_MS - performance.now();
    if (rest > 0) setTimeout(write, rest);
    else afterFrame(write);
  });
  addEventListener('hashchange', () => {
    if (location.hash === known) return;
    known = location.hash;
    onLink(decodeLink(location.hash));
  });
}
