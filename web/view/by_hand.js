// Owns: the way from a place of this page to the figure of the second one that works the same thing out by hand. May touch: the DOM.

import { h } from './dom.js';

/** @typedef {'lookup'|'matrices'|'scale'|'saturation'|'mask'|'toy'|'order'|'shapes'|'price'|'floor'} Figure */

/** One line of links. @param {...[Figure, string]} figures anchor and what the link says */
export function byHand(...figures) {
  return h(
    'p',
    { class: 'note by-hand' },
    'By hand: ',
    ...figures.map(([anchor, text]) => h('a', { href: `by-hand.html#${anchor}`, text })),
  );
}
