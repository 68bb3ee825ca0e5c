/**
 * The by-hand page: puts each figure into its place, and colours again when the theme changes.
 * Owns: attention worked out without a model: maths/ (pure functions), figures/ (one a section), the toy data.
 * May touch: what both pages draw with (view/dom, view/format, view/color_scale). Start reading at maths/attention.js.
 */
import { floorFigure } from './figures/floor.js';
import { lookupFigure } from './figures/lookup.js';
import { maskFigure } from './figures/mask.js';
import { matricesFigure } from './figures/matrices.js';
import { orderFigure } from './figures/order.js';
import { priceFigure } from './figures/price.js';
import { saturationFigure } from './figures/saturation.js';
import { scaleFigure } from './figures/scale.js';
import { shapesFigure } from './figures/shapes.js';
import { toyFigure } from './figures/toy.js';
import { paint } from './tables.js';
import { onTheme, themeButton } from './theme.js';

themeButton(document.querySelector('[data-action="theme"]'));

/** @type {Record<string, (root: HTMLElement) => () => void>} each builds its controls once and returns what fills in the results */
const FIGURES = {
  lookup: lookupFigure,
  matrices: matricesFigure,
  scale: scaleFigure,
  saturation: saturationFigure,
  mask: maskFigure,
  toy: toyFigure,
  order: orderFigure,
  shapes: shapesFigure,
  price: priceFigure,
  floor: floorFigure,
};

for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-byhand]'))) {
  FIGURES[place.dataset.byhand](place)();
  // One figure a task, so that none blocks the page.
  await new Promise((resolve) => setTimeout(resolve));
}
onTheme(() =>
  document.querySelectorAll('table.matrix').forEach((matrix) => paint(/** @type {HTMLElement} */ (matrix))),
);
document.documentElement.dataset.state = 'ready';
