/** Why √d: how far q·k spreads at several widths, and how large the largest weight gets, by live draws beside the article's. */
import { h } from '../../view/dom.js';
import { controls, numberField, rangeField } from '../fields.js';
import { count, fixed, plain } from '../format.js';
import { dotSpread, KEYS, PAIRS, QUERIES, spreadError, spreadTheory, topWeight } from '../maths/spread.js';
import { runInSlices } from '../slices.js';
import { bar, num, said, slot, table } from '../tables.js';
import { NUMPY_DRAWS } from '../toy_data.js';

const FIXED_WIDTHS = [4, 64];

/** @param {HTMLElement} root @returns {() => void} */
export function scaleFigure(root) {
  const width = rangeField({
    label: 'another width d',
    initial: 16,
    min: 1,
    max: 256,
    step: 1,
    onChange: () => update(),
  });
  const seed = numberField({
    label: 'seed of the draws',
    initial: 1,
    min: 0,
    max: 2147483647,
    whole: true,
    onChange: () => update(),
  });
  const spread = slot();
  const weights = slot();
  const sentence = said();
  const progress = h('p', { class: 'note', role: 'status' });
  root.append(controls([width, seed]), progress, spread, weights, sentence);
  let running = new AbortController();
  let finished = 0;

  async function update() {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    const widths = [...new Set([...FIXED_WIDTHS, width.value()])];
    root.dataset.state = 'drawing';
    progress.textContent = 'Drawing …';
    const rows = [];
    try {
      for (const d of widths) {
        const products = await runInSlices(dotSpread({ width: d, pairs: PAIRS, seed: seed.value() }), { signal });
        const top = await runInSlices(topWeight({ width: d, queries: QUERIES, keys: KEYS, seed: seed.value() }), {
          signal,
        });
        rows.push({ d, products, top });
        show(rows);
      }
    } catch (error) {
      // Another width or seed was chosen meanwhile, and its own run is under way.
      if (signal.aborted) return;
      throw error;
    }
    progress.textContent = `${count(PAIRS)} pairs of vectors, and ${count(QUERIES)} queries with ${KEYS} keys each, drawn for each width; seed ${seed.value()}.`;
    root.dataset.state = 'drawn';
    finished += 1;
    root.dataset.draws = String(finished);
  }

  function show(rows) {
    spread.replaceChildren(
      table({
        caption: 'Spread (standard deviation) of q·k',
        heads: ['width d', 'theory √d', 'article’s draws', 'live draws', 'off by'],
        rows: rows.map(({ d, products }) => {
          const i = NUMPY_DRAWS.spread.findIndex((row) => row.width === d);
          const off = (products.std - spreadTheory(d)) / products.standardError;
          return [
            num(d, { at: i < 0 ? null : `sqrt_dk/spread/${i}/d_k`, print: plain }),
            num(spreadTheory(d), { at: i < 0 ? null : `sqrt_dk/spread/${i}/sqrt`, digits: 2 }),
            i < 0
              ? '–'
              : num(NUMPY_DRAWS.spread[i].std, { at: `sqrt_dk/spread/${i}/std sqrt_dk/seed_spread/${i}`, digits: 2 }),
            num(products.std, { digits: 2, live: `spread-${d}` }),
            num(off, { print: (x) => `${fixed(x, 1)} s.e.`, live: `spread-off-${d}` }),
          ];
        }),
      }),
      h(
        'p',
        { class: 'note' },
        `s.e.: standard errors, how far so many draws stray by chance: ${rows.map(({ d }) => `${fixed(spreadError(d, PAIRS), 3)} at width ${d}`).join(', ')}. Beyond three is rare.`,
      ),
    );
    weights.replaceChildren(
      table({
        caption: `Mean of the largest of ${KEYS} weights`,
        heads: ['width d', 'article, q·k', 'live, q·k', 'article, ÷ √d', 'live, ÷ √d'],
        rows: rows.map(({ d, top }) => {
          const known = d === NUMPY_DRAWS.topWeight.width;
          const article = (kind, at) => (known ? num(NUMPY_DRAWS.topWeight[kind], { at, digits: 3 }) : '–');
          const live = (kind) => [
            num(top[kind].mean, { digits: 3, live: `top-${kind}-${d}` }),
            h('small', { text: ` ± ${fixed(top[kind].standardError, 3)}` }),
            bar(top[kind].mean),
          ];
          return [
            plain(d),
            article('plain', 'sqrt_dk/mean_top_weight sqrt_dk/seed_mean_top_weight/0'),
            live('plain'),
            article('scaled', 'sqrt_dk/mean_top_weight_scaled sqrt_dk/seed_mean_top_weight/1'),
            live('scaled'),
          ];
        }),
      }),
    );
    const last = rows.at(-1);
    sentence.textContent = `At width ${last.d} the largest of ${KEYS} weights is on average ${fixed(last.top.plain.mean, 3)}; divided by √${last.d} first, ${fixed(last.top.scaled.mean, 3)}. Equal shares would be ${fixed(1 / KEYS, 3)}.`;
  }
  return update;
}
