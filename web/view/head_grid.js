// Owns: the atlas, every head as one square, a layer a row; and the list of the top heads beside it. Touches store and actions only.

import { h, setAttribute, setText, replaceChildren, hovers } from './dom.js';
import { shareColor, signedColor } from './color_scale.js';
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
  const top = h('ol', { class: 'top-heads' });
  const title = h('h2', { text: 'All heads' });
  root.append(
    title,
    h('div', { class: 'row' }, h('label', { for: 'shade', class: 'small', text: 'Shade heads by' }), choice),
    definition,
    legend,
    grid,
    h('h3', { class: 'small-heading', text: 'Strongest heads' }),
    top,
  );

  let legendFor = '';
  let shape = { layers: 0, heads: 0 };
  /** @type {HTMLButtonElement[]} */
  let cells = [];
  let focusAt = { row: 0, column: 0 };

  function build({ layers, heads }) {
    shape = { layers, heads };
    cells = [];
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
    if (cell && hovers(event)) actions.hoverHead(cell);
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
    cells.forEach((cell, i) => setAttribute(cell, 'tabindex', i === here ? '0' : '-1'));
  }

  function color(found, value, theme) {
    if (value === null || !Number.isFinite(value)) return '';
    if (found.scale === 'signed') return signedColor(value, found.limit, theme);
    // A range is spread linearly over its own printed ends; shares have the one square-root ramp.
    return shareColor(found.scale === 'range' ? (value / found.limit) ** 2 : value, theme);
  }

  function paint(s) {
    const found = headValues(s);
    setAttribute(root, 'data-waiting', found ? null : '');
    if (!found) {
      const why =
        s.shade === 'effect'
          ? 'Nothing measured yet: press “Which heads matter here?” beside the next words.'
          : s.run?.stored && s.shade === 'wrote'
            ? 'This needs the weights; it appears when they are in.'
            : '';
      if (why) {
        setText(definition, why);
        cells.forEach((cell) => (cell.style.backgroundColor = ''));
        replaceChildren(top);
        replaceChildren(legend);
        legendFor = '';
      }
      return;
    }
    setText(definition, found.definition);
    cells.forEach((cell, i) => {
      const value = found.values[i];
      const c = color(found, value, s.theme);
      if (cell.style.backgroundColor !== c) cell.style.backgroundColor = c;
      setAttribute(cell, 'data-value', value === null || !Number.isFinite(value) ? null : value);
      const detail = found.detail(i);
      const name = `layer ${Math.floor(i / shape.heads)}, head ${i % shape.heads}: ${found.print(value)}${detail ? ` ${detail}` : ''}`;
      // With nothing inside, a button's title is its name.
      setAttribute(cell, 'title', name);
    });
    const ranked = order(found.order ?? found.values).slice(0, TOP_HEADS);
    replaceChildren(
      top,
      ...ranked.map((i) => {
        const layer = Math.floor(i / shape.heads);
        const head = i % shape.heads;
        return h(
          'li',
          {},
          h('button', {
            type: 'button',
            class: 'quiet head-link',
            text: shortHead(layer, head),
            'aria-label': `${shortHead(layer, head)}: open layer ${layer}, head ${head}`,
            onclick: () => actions.goToHead(layer, head),
          }),
          h('span', { class: 'number', text: found.print(found.values[i]) }),
          h('span', {
            class: 'note',
            text: found.detail(i) || `${rankOf(found.order ?? found.values, i)} of ${found.values.length}`,
          }),
        );
      }),
    );
    if (ranked.length === 0)
      top.append(
        h('li', {
          class: 'note',
          text:
            s.shade === 'induction' || s.shade === 'duplicate'
              ? 'No word of this text stands in it twice, so no head has this number.'
              : 'Nothing to list for this word.',
        }),
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
      setAttribute(cell, 'aria-pressed', String(s.layer === layer && s.head === head));
      setAttribute(cell, 'data-off', headIsOff(s, layer, head) ? '' : null);
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
