/**
 * Rows-of-numbers algebra for the by-hand page: small, plain, written to be read.
 *
 * A vector is an array of numbers, a matrix an array of rows. Nothing here is fast and nothing needs to be: the largest matrix of the page is 12 × 4.
 * @typedef {number[]} Vector
 * @typedef {number[][]} Matrix
 */

/**
 * dot: Σ a[i] · b[i]
 * @param {Vector} a
 * @param {Vector} b
 * @returns {number}
 */
export function dot(a, b) {
  if (a.length !== b.length) throw new RangeError(`dot: lengths ${a.length} and ${b.length} differ`);
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/**
 * transpose: mᵀ [cols, rows]
 * @param {Matrix} m
 * @returns {Matrix}
 */
export function transpose(m) {
  return m[0].map((_, col) => m.map((row) => row[col]));
}

/**
 * matmul: a [n, k] · b [k, m] → [n, m]
 * @param {Matrix} a
 * @param {Matrix} b
 * @returns {Matrix}
 */
export function matmul(a, b) {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
}

/**
 * add: a + b, element by element
 * @param {Matrix} a
 * @param {Matrix} b
 * @returns {Matrix}
 */
export function add(a, b) {
  return a.map((row, i) => row.map((x, j) => x + b[i][j]));
}

/**
 * scale: m · factor
 * @param {Matrix} m
 * @param {number} factor
 * @returns {Matrix}
 */
export function scale(m, factor) {
  return m.map((row) => row.map((x) => x * factor));
}

/**
 * softmax: e^(x[i] − max x) / Σ e^(x[j] − max x). A score of −∞ gets exactly 0.
 * @param {Vector} scores at least one of them finite
 * @returns {Vector}
 */
export function softmax(scores) {
  const top = Math.max(...scores);
  const raised = scores.map((s) => Math.exp(s - top));
  const sum = raised.reduce((a, b) => a + b, 0);
  return raised.map((e) => e / sum);
}

/**
 * cosine: a·b / (‖a‖ ‖b‖), the angle alone, lengths taken out
 * @param {Vector} a
 * @param {Vector} b
 * @returns {number}
 */
export function cosine(a, b) {
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/**
 * maxDifference: the largest |a − b| of two matrices of one shape
 * @param {Matrix} a
 * @param {Matrix} b
 * @returns {number}
 */
export function maxDifference(a, b) {
  return Math.max(...a.flatMap((row, i) => row.map((x, j) => Math.abs(x - b[i][j]))));
}
