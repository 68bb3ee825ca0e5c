/**
 * Writes toy_data.js: the inputs of the by-hand page's figures, taken from tests/data/reference/toy_figures.json.
 *
 *   node web/byhand/make_toy_data.mjs          writes the file
 *   node web/byhand/make_toy_data.mjs --print  prints it (a test compares)
 *
 * Only inputs go in (vectors, matrices, text) and the four figures that depend on numpy's own draws; every other figure is computed on the page.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const figures = JSON.parse(
  readFileSync(new URL('../../tests/data/reference/toy_figures.json', import.meta.url), 'utf8'),
);
const { context_floor: floor, soft_lookup: lookup, sqrt_dk: scaling, toy_attention: toy } = figures;

const matrix = (rows) => `[\n${rows.map((row) => `  [${row.join(', ')}],`).join('\n')}\n]`;
const words = (list) => `[${list.map((word) => `'${word}'`).join(', ')}]`;

const source = `/* Made by web/byhand/make_toy_data.mjs from tests/data/reference/toy_figures.json; do not edit. */

/** The text that the toy vectors were learnt from. */
export const TEXT =
  '${floor.text}';

/** Its different words; row i of EMBEDDING is word i. */
export const VOCAB = ${words(toy.vocab)};

/** [12, 4] */
export const EMBEDDING = ${matrix(toy.E)};

/** One head of random matrices, each [4, 4]. */
export const WQ = ${matrix(toy.WQ)};

export const WK = ${matrix(toy.WK)};

export const WV = ${matrix(toy.WV)};

/** [5, 4] a random vector for each place in the sentence */
export const POSITIONS = ${matrix(toy.pos)};

/** The soft lookup of three tokens. */
export const LOOKUP_QUERY = [${lookup.q.join(', ')}];

export const LOOKUP_KEYS = ${matrix(lookup.K)};

export const LOOKUP_VALUES = ${matrix(lookup.V)};

/** Measured once with numpy's generator, default_rng(0): figures that no other generator gives to the last digit. */
export const NUMPY_DRAWS = {
  spread: [
${scaling.spread.map((row) => `    { width: ${row.d_k}, std: ${row.std} },`).join('\n')}
  ],
  topWeight: { width: 64, plain: ${scaling.mean_top_weight}, scaled: ${scaling.mean_top_weight_scaled} },
};
`;

if (process.argv.includes('--print')) process.stdout.write(source);
else writeFileSync(new URL('toy_data.js', import.meta.url), source);
