// Owns: what is said aloud when the view changes. Touches store and one live region.

import { pinned, shownHead, headName } from './selectors.js';
import { spokenToken } from '../view/visible_text.js';
import { order } from '../view/ranking.js';
import { share } from '../view/format.js';

/** The pinned word's row in one sentence. */
function sentence(s) {
  const at = pinned(s);
  const { layer, head } = shownHead(s);
  const pattern = s.data.pattern;
  if (at === null || !s.run || pattern?.n !== s.run.tokens.length || pattern.layer !== layer || pattern.head !== head)
    return null;
  const row = pattern.values.subarray(at * pattern.n, at * pattern.n + at + 1);
  const best = order(row)
    .slice(0, 3)
    .map((k) => `${spokenToken(s.run.tokens[k])} ${share(row[k])}`);
  return `${spokenToken(s.run.tokens[at])}, token ${at}, pinned; ${headName(layer, head)} looks at ${best.join(', ')}.`;
}

/** @param {{state: any, subscribe: (f: (s: any, before: any) => void) => any}} store @param {Document} document */
export function announce(store, document) {
  const region = /** @type {HTMLElement} */ (document.getElementById('live'));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let last = '';
  const say = (text) => {
    if (!text || text === last) return;
    last = text;
    region.textContent = text;
  };
  store.subscribe((s, before) => {
    if (s.said && s.said !== before.said) return say(s.said);
    if (s.problem && s.problem !== before.problem) return say(s.problem);
    if (s.load.status !== before.load.status && s.load.status === 'ready')
      return say('The weights are in; every number is live.');
    if (s.token === null && before.token !== null) return say('Freed: the last word is shown.');
    if (s.previewHead || s.hover !== null) return;
    clearTimeout(timer);
    timer = setTimeout(() => say(sentence(store.state) ?? ''), 350);
  });
}
