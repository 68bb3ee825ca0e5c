// Owns: what attention costs, counted for the shown text and measured on this machine. Touches store and actions only.

import { h, svg, replaceChildren, setText } from './dom.js';
import { scores, bytesPerToken } from '../app/measure_price.js';
import { byHand } from './by_hand.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

const W = 560;
const H = 260;
const PAD = { left: 52, right: 96, top: 12, bottom: 34 };

/** Lines on two logarithmic axes. @param {{n: number, fresh: number, next: number}[]} points */
function plot(points) {
  const xs = points.map((p) => Math.log10(p.n));
  const ys = points.flatMap((p) => [p.fresh, p.next]).map((v) => Math.log10(Math.max(0.05, v)));
  const [x0, x1] = [Math.min(...xs), Math.max(...xs, Math.min(...xs) + 0.3)];
  const [y0, y1] = [Math.floor(Math.min(...ys)), Math.ceil(Math.max(...ys))];
  const x = (n) => PAD.left + ((Math.log10(n) - x0) / (x1 - x0)) * (W - PAD.left - PAD.right);
  const y = (ms) =>
    H - PAD.bottom - ((Math.log10(Math.max(0.05, ms)) - y0) / Math.max(1, y1 - y0)) * (H - PAD.top - PAD.bottom);
  const picture = svg('svg', {
    viewBox: `0 0 ${W} ${H}`,
    class: 'plot',
    role: 'img',
    'aria-label': 'Milliseconds against tokens, both axes logarithmic; the table beside holds the same numbers',
  });
  for (let e = y0; e <= y1; e++) {
    const at = y(10 ** e);
    picture.append(
      svg('line', { x1: PAD.left, x2: W - PAD.right, y1: at, y2: at, class: 'rule' }),
      svg('text', { x: PAD.left - 8, y: at + 4, class: 'tick end', text: format.duration(10 ** e) }),
    );
  }
  for (const { n } of points)
    picture.append(svg('text', { x: x(n), y: H - PAD.bottom + 18, class: 'tick middle', text: String(n) }));
  picture.append(svg('text', { x: (PAD.left + W - PAD.right) / 2, y: H - 2, class: 'tick middle', text: 'tokens' }));
  for (const { key, label, name } of [
    { key: 'fresh', label: 'all anew', name: 'line-a' },
    { key: 'next', label: 'one more token', name: 'line-b' },
  ]) {
    picture.append(
      svg('polyline', { points: points.map((p) => `${x(p.n)},${y(p[key])}`).join(' '), class: `line ${name}` }),
    );
    for (const p of points) picture.append(svg('circle', { cx: x(p.n), cy: y(p[key]), r: 3.5, class: `dot ${name}` }));
    const last = points[points.length - 1];
    picture.append(svg('text', { x: x(last.n) + 9, y: y(last[key]) + 4, class: `label ${name}`, text: label }));
  }
  return picture;
}

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function pricePanel(root, store, actions) {
  const counted = h('p', { 'data-view': 'price-count' });
  const measure = h('button', {
    type: 'button',
    class: 'button',
    text: 'Measure it here',
    onclick: () => actions.jobs.price(),
  });
  const stop = h('button', {
    type: 'button',
    class: 'quiet',
    text: 'Cancel',
    onclick: () => actions.jobs.cancel('price'),
  });
  const said = h('span', { class: 'note' });
  const picture = h('div', {});
  const body = h('tbody', {});
  const table = h(
    'table',
    { class: 'plain', 'data-view': 'price', hidden: true },
    h('caption', { class: 'visually-hidden', text: 'Measured price by length' }),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['tokens', 'scores a head', 'all anew', 'one more', 'kept'].map((text) =>
          h('th', { scope: 'col', class: 'number', text }),
        ),
      ),
    ),
    body,
  );
  root.append(
    h('p', {
      class: 'note',
      text: 'Every token looks at itself and at all before it: n·(n+1)/2 scores for n tokens, in every head of every layer. Keys and values of what was read are kept, so one more token costs one more row, not the whole triangle again.',
    }),
    counted,
    h('div', { class: 'row' }, measure, stop, said),
    h('div', { class: 'side-by-side' }, picture, table),
    byHand(['price', 'n² at any length']),
  );

  function count(s) {
    if (!s.run) return setText(counted, '');
    const n = s.run.tokens.length;
    const { layers, heads } = s.run.shape;
    replaceChildren(
      counted,
      `This text: ${format.count(n)} tokens, `,
      h('b', { 'data-value': scores(n), text: format.count(scores(n)) }),
      ` scores a head, × ${format.count(layers * heads)} heads = ${format.count(scores(n) * layers * heads)} in all. 1,000 tokens: ${format.count(scores(1000))} a head.`,
      s.info
        ? ` Kept for this text: ${format.bytes(bytesPerToken(s.info).kv * n)} of keys and values, and ${format.bytes(bytesPerToken(s.info).queries * n)} of queries for this page.`
        : '',
    );
  }
  function update(s) {
    measure.disabled = !s.info || s.price?.status === 'running';
    const p = s.price;
    stop.hidden = p?.status !== 'running';
    setText(
      said,
      !p
        ? ''
        : p.status === 'running'
          ? 'measuring; other work on this machine shows in the times'
          : p.status === 'failed'
            ? p.message
            : p.status === 'cancelled'
              ? 'stopped'
              : `medians of 3, ${s.info?.threads ?? 1} thread${s.info?.threads === 1 ? '' : 's'}, ${s.info?.precision ?? ''}`,
    );
    table.hidden = !p?.points.length;
    if (!p?.points.length) return replaceChildren(picture);
    replaceChildren(
      body,
      ...p.points.map((point) =>
        h(
          'tr',
          { 'data-n': point.n },
          h('th', { scope: 'row', class: 'number', text: format.count(point.n) }),
          h('td', { class: 'number', text: format.count(scores(point.n)) }),
          h('td', { class: 'number', 'data-value': point.fresh, text: format.duration(point.fresh) }),
          h('td', { class: 'number', 'data-value': point.next, text: format.duration(point.next) }),
          h('td', { class: 'number', text: s.info ? format.bytes(bytesPerToken(s.info).kv * point.n) : '' }),
        ),
      ),
    );
    replaceChildren(picture, p.points.length > 1 ? plot(p.points) : null);
  }
  store.subscribe((s, b) => {
    if (changed(s, b, ['run', 'info'])) count(s);
    if (changed(s, b, ['price', 'info'])) update(s);
  });
  count(store.state);
  update(store.state);
}
