/**
 * Attention as the textbook writes it: scores, mask, softmax, mix.
 * @typedef {import('./linear.js').Vector} Vector
 * @typedef {import('./linear.js').Matrix} Matrix
 * @typedef {{WQ: Matrix, WK: Matrix, WV: Matrix}} Head  three matrices, each [width, width]
 */
import { dot, matmul, softmax, transpose } from './linear.js';

/**
 * softLookup: one query against n keys; the answer is the average of the values, weighted by softmax of the scores
 * @param {Vector} query
 * @param {Matrix} keys
 * @param {Matrix} values
 * @param {number} [divisor] what the scores are divided by before the softmax
 * @returns {{scores: Vector, weights: Vector, output: Vector}}
 */
export function softLookup(query, keys, values, divisor = 1) {
  const scores = keys.map((key) => dot(query, key));
  const weights = softmax(scores.map((s) => s / divisor));
  return { scores, weights, output: mix(weights, values) };
}

/**
 * mix: Σ weights[i] · values[i]
 * @param {Vector} weights
 * @param {Matrix} values
 * @returns {Vector}
 */
export function mix(weights, values) {
  return matmul([weights], values)[0];
}

/**
 * causalMask: what is added to the scores: 0 on and below the diagonal, −∞ above
 * @param {number} n
 * @returns {Matrix}
 */
export function causalMask(n) {
  return Array.from({ length: n }, (_, query) =>
    Array.from({ length: n }, (_unused, key) => (key <= query ? 0 : -Infinity)),
  );
}

/**
 * attention: softmax(Q Kᵀ / √d + M) V for one head
 * @param {Matrix} x [n, width] one row a token
 * @param {Head} head
 * @param {{masked: boolean}} options
 * @returns {{q: Matrix, k: Matrix, v: Matrix, scores: Matrix, pattern: Matrix, output: Matrix}} scores after the division, before the mask
 */
export function attention(x, { WQ, WK, WV }, { masked }) {
  const q = matmul(x, WQ);
  const k = matmul(x, WK);
  const v = matmul(x, WV);
  const divisor = Math.sqrt(k[0].length);
  const scores = matmul(q, transpose(k)).map((row) => row.map((s) => s / divisor));
  const mask = causalMask(x.length);
  const pattern = scores.map((row, query) => softmax(masked ? row.map((s, key) => s + mask[query][key]) : row));
  return { q, k, v, scores, pattern, output: matmul(pattern, v) };
}
