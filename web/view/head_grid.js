// Owns: the atlas, every head as one square, a layer a row; and the list of the top heads beside it. Touches store and actions only.

import { h, setAttribute, setText, replaceChildren, hovers, itemPool, waitingMark } from './dom.js';
import { rampBytes, shareStep, signedStep } from './color_scale.js';
import { sweep } from '../app/after_frame.js';
import { shareLegend, signedLegend, zeroToMax } from './legend.js';
import { SHADES, headValues } from './head_values.js';
import { order, rankOf } from './ranking.js';
import { walkGrid } from './layout.js';
import { headIsOff, shortHead } from '../app/selectors.js';
import { changed } from '../app/store.js';

const TOP_HEADS = 8;

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function headGrid(root, store, actions) {
  const choice = h(
    'select',
    { id: 'shade', class: 'field', onchange: (e) => actions.setShade(e.target.value) },
    ...SHADES.map(({ key, name }) => h('option', { value: key, text: name })),
  );
  const definition = h('p', { class: 'note definition' });
  const legend = h('div', { class: 'legend-slot' });
  const grid = h('div', {
    class: 'atlas',
    role: 'grid',
    'aria-label': 'All heads: a row is a layer, a column is a head',
    'data-view': 'atlas',
  });
  // One pixel a head, stretched behind the cells: a new word changes one picture instead of 270 elements.
  const shades = /** @type {HTMLCanvasElement} */ (h('canvas', { class: 'atlas-shades', 'aria-hidden': 'true' }));
  const waits = waitingMark(root);
  const top = h('ol', { class: 'top-heads' });
  const showTop = itemPool(top, () => {
    const link = h('button', { type: 'button', class: 'quiet head-link' });
    const number = h('span', { class: 'number' });
    const detail = h('span', { class: 'note' });
    return { item: h('li', {}, link, number, detail), link, number, detail };
  });
  const nothing = h('p', { class: 'note', hidden: true });
  const title = h('h2', { text: 'All heads' });
  root.append(
    title,
    h('div', { class: 'row' }, h('label', { for: 'shade', class: 'small', text: 'Shade heads by' }), choice),
    definition,
    legend,
    h('div', { class: 'atlas-frame' }, shades, grid),
    h('h3', { class: 'small-heading', text: 'Strongest heads' }),
    h('div', { class: 'top-heads-box' }, top, nothing),
  );

  let legendFor = '';
  let shape = { layers: 0, heads: 0 };
  /** @type {HTMLButtonElement[]} */
  let cells = [];
  let focusAt = { row: 0, column: 0 };
  /** What is known to stand in the cells, so that no element is asked. @type {{value: any[], pressed: boolean[], off: boolean[]}} */
  let stands = { value: [], pressed: [], off: [] };
  /** @type {import('./head_values.js').HeadValues|null} */
  let shown = null;
  let tabStop = -1;

  function build({ layers, heads }) {
    shape = { layers, heads };
    cells = [];
    stands = { value: [], pressed: [], off: [] };
    tabStop = -1;
    [shades.width, shades.height] = [heads, layers];
    grid.style.setProperty('--heads', String(heads));
    setText(title, `All ${layers * heads} heads`);
    const rows = [
      h(
        'div',
        { role: 'row', class: 'atlas-row atlas-top' },
        h(
          'span',
          { role: 'columnheader', class: 'atlas-corner' },
          h('span', { class: 'visually-hidden', text: 'layer' }),
        ),
        ...Array.from({ length: heads }, (_, i) => h('span', { role: 'columnheader', text: String(i) })),
      ),
    ];
    for (let layer = 0; layer < layers; layer++) {
      const row = h('div', { role: 'row', class: 'atlas-row' }, h('span', { role: 'rowheader', text: String(layer) }));
      for (let head = 0; head < heads; head++) {
        const cell = h('button', {
          type: 'button',
          class: 'cell',
          'data-layer': layer,
          'data-head': head,
          tabindex: '-1',
        });
        cells.push(cell);
        row.append(h('span', { role: 'gridcell' }, cell));
      }
      rows.push(row);
    }
    replaceChildren(grid, ...rows);
  }

  const at = (event) => {
    const cell = event.target instanceof Element ? event.target.closest('.cell') : null;
    return cell
      ? { layer: Number(cell.getAttribute('data-layer')), head: Number(cell.getAttribute('data-head')) }
      : null;
  };
  grid.addEventListener('pointerover', (event) => {
    const cell = at(event);
    if (!cell || !hovers(event)) return;
    nameCell(cell.layer * shape.heads + cell.head);
    actions.hoverHead(cell);
  });
  grid.addEventListener('pointerleave', () => actions.hoverHead(null));
  grid.addEventListener('click', (event) => {
    const cell = at(event);
    if (cell) actions.pinHead(cell.layer, cell.head);
  });
  grid.addEventListener('focusin', (event) => {
    const cell = at(event);
    if (!cell) return;
    focusAt = { row: cell.layer, column: cell.head };
    nameCell(cell.layer * shape.heads + cell.head);
    rove();
    if (/** @type {Element} */ (event.target).matches(':focus-visible')) actions.hoverHead(cell);
  });
  grid.addEventListener('focusout', () => actions.hoverHead(null));
  grid.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return actions.setAveraged(true);
    const to = walkGrid(event.key, focusAt, shape.layers, shape.heads);
    if (!to || !at(event)) return;
    event.preventDefault();
    cells[to.row * shape.heads + to.column].focus();
  });

  function rove() {
    const here = focusAt.row * shape.heads + focusAt.column;
    if (here === tabStop) return;
    cells[tabStop]?.setAttribute('tabindex', '-1');
    cells[here]?.setAttribute('tabindex', '0');
    tabStop = here;
  }

  top.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('.head-link') : null;
    if (link) actions.goToHead(Number(link.getAttribute('data-to-layer')), Number(link.getAttribute('data-to-head')));
  });

  /** Shades of all heads at once; a head without a number stays as the ground is. @param {any} s */
  function shade(found, s) {
    const image = new ImageData(shape.heads, shape.layers);
    if (found) {
      const ramp = rampBytes(s.theme, found.scale === 'signed' ? 'signed' : 'share');
      for (let i = 0; i < cells.length; i++) {
        const value = found.values[i];
        if (value === null || !Number.isFinite(value)) continue;
        // A range is spread linearly over its own printed ends; shares have the one square-root ramp.
        const step =
          found.scale === 'signed'
            ? signedStep(value, found.limit)
            : shareStep(found.scale === 'range' ? (value / found.limit) ** 2 : value);
        image.data.set(ramp.subarray(step * 3, step * 3 + 3), i * 4);
        image.data[i * 4 + 3] = 255;
      }
    }
    /** @type {CanvasRenderingContext2D} */ (shades.getContext('2d')).putImageData(image, 0, 0);
  }

  /** With nothing inside, a button's title is its name. Nobody sees it before the pointer rests, so it is written once the frame stands. */
  function nameCell(i) {
    if (!shown || !cells[i]) return;
    const detail = shown.detail(i);
    setAttribute(
      cells[i],
      'title',
      `layer ${Math.floor(i / shape.heads)}, head ${i % shape.heads}: ${shown.print(shown.values[i])}${detail ? ` ${detail}` : ''}`,
    );
  }
  const nameCells = sweep(nameCell);

  function paint(s) {
    const found = headValues(s);
    waits(!found);
    if (!found) {
      const why =
        s.shade === 'effect'
          ? 'Nothing measured yet: press “Which heads matter here?” beside the next words.'
          : s.run?.stored && s.shade === 'wrote'
            ? 'This needs the weights; it appears when they are in.'
            : '';
      if (why) {
        setText(definition, why);
        shade(null, s);
        showTop(0, () => {});
        nothing.hidden = true;
        replaceChildren(legend);
        legendFor = '';
      }
      return;
    }
    shown = found;
    setText(definition, found.definition);
    shade(found, s);
    cells.forEach((cell, i) => {
      const value = found.values[i];
      if (Object.is(stands.value[i], value)) return;
      stands.value[i] = value;
      setAttribute(cell, 'data-value', value === null || !Number.isFinite(value) ? null : value);
    });
    nameCells(cells.length, s.hover === null ? 0 : 120);
    const ranked = order(found.order ?? found.values).slice(0, TOP_HEADS);
    showTop(ranked.length, ({ link, number, detail }, at) => {
      const i = ranked[at];
      const layer = Math.floor(i / shape.heads);
      const head = i % shape.heads;
      const short = shortHead(layer, head);
      if (link.textContent !== short) {
        setText(link, short);
        setAttribute(link, 'aria-label', `${short}: open layer ${layer}, head ${head}`);
        setAttribute(link, 'data-to-layer', layer);
        setAttribute(link, 'data-to-head', head);
      }
      setText(number, found.print(found.values[i]));
      const more = found.detail(i) || `${rankOf(found.order ?? found.values, i)} of ${found.values.length}`;
      setText(detail, more);
      setAttribute(detail, 'title', more);
    });
    nothing.hidden = ranked.length > 0;
    if (ranked.length === 0)
      setText(
        nothing,
        s.shade === 'induction' || s.shade === 'duplicate'
          ? 'No word of this text stands in it twice, so no head has this number.'
          : 'Nothing to list for this word.',
      );
    drawLegend(found, s);
  }

  /** The legend changes with scale, end and theme, not with every word. */
  function drawLegend(found, s) {
    const wanted = `${found.scale} ${found.limit} ${s.theme} ${s.shade === 'effect'}`;
    if (wanted === legendFor) return;
    legendFor = wanted;
    replaceChildren(
      legend,
      found.scale === 'share'
        ? shareLegend(s.theme)
        : found.scale === 'range'
          ? zeroToMax(found.limit, s.theme)
          : signedLegend(
              found.limit,
              s.theme,
              (v) => (s.shade === 'effect' ? found.print(v).replace(' points', '') : found.print(v)),
              found.name,
            ),
    );
  }

  function mark(s) {
    cells.forEach((cell, i) => {
      const layer = Math.floor(i / shape.heads);
      const head = i % shape.heads;
      const pressed = s.layer === layer && s.head === head;
      const off = s.off.length > 0 && headIsOff(s, layer, head);
      if (stands.pressed[i] !== pressed) setAttribute(cell, 'aria-pressed', String(pressed));
      if (stands.off[i] !== off) setAttribute(cell, 'data-off', off ? '' : null);
      [stands.pressed[i], stands.off[i]] = [pressed, off];
    });
  }

  store.subscribe((s, before) => {
    if (s.run && (s.run.shape.layers !== shape.layers || s.run.shape.heads !== shape.heads)) {
      build(s.run.shape);
      focusAt = {
        row: Math.min(s.layer, s.run.shape.layers - 1),
        column: Math.min(s.head ?? 0, s.run.shape.heads - 1),
      };
      rove();
      paint(s);
      mark(s);
    }
    if (choice.value !== s.shade) choice.value = s.shade;
    const d = s.data;
    const b = before.data;
    if (
      d.look !== b.look ||
      d.lookedAt !== b.lookedAt ||
      d.heads !== b.heads ||
      d.attribution !== b.attribution ||
      changed(s, before, ['shade', 'theme', 'aside', 'effects', 'run'])
    )
      paint(s);
    if (changed(s, before, ['layer', 'head', 'off', 'run'])) mark(s);
    if (changed(s, before, ['layer', 'head']) && !grid.contains(document.activeElement)) {
      focusAt = {
        row: Math.min(s.layer, shape.layers - 1),
        column: Math.min(s.head ?? focusAt.column, shape.heads - 1),
      };
      rove();
    }
  });
  choice.value = store.state.shade;
}
