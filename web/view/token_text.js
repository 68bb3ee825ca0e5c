// Owns: how one token stands in the page: its text with visible marks, direction kept, pieces numbered. May touch: the DOM.

import { h } from './dom.js';
import { visibleParts } from './visible_text.js';

/**
 * @param {{text: string, special?: boolean, piece?: [number, number]}} token
 * @returns {HTMLElement}
 */
export function tokenText(token) {
  const node = h('bdi', { class: token.special ? 'token-text special' : 'token-text', dir: 'auto' });
  for (const part of visibleParts(token.text)) {
    if (part.kind === 'text') node.appendChild(document.createTextNode(part.shown));
    else node.appendChild(h('span', { class: `mark ${part.kind}`, text: part.shown, title: part.name }));
  }
  if (token.text === '') node.appendChild(h('span', { class: 'mark control', text: '∅', title: 'no characters' }));
  if (token.piece && token.piece[1] > 1)
    node.appendChild(h('span', { class: 'piece', text: `${token.piece[0] + 1} of ${token.piece[1]}` }));
  return node;
}

/** Two tokens that look alike on the page. */
export const sameTokenText = (a, b) =>
  a === b ||
  (a &&
    b &&
    a.text === b.text &&
    a.special === b.special &&
    a.piece?.[0] === b.piece?.[0] &&
    a.piece?.[1] === b.piece?.[1]);

/** @type {WeakMap<Element, any>} */
const held = new WeakMap();

/** Puts a token's text into an element of its own, unless it stands there already. @param {Element} node */
export function showToken(node, token) {
  if (sameTokenText(held.get(node), token)) return;
  held.set(node, token);
  node.replaceChildren(tokenText(token));
}
