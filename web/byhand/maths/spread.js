/**
 * How far dot products of random vectors spread, and what that does to a softmax. Both experiments are generators that pause after each batch, so a page
 * can run them between frames; their last value is the result.
 */
import { softmax } from './linear.js';
import { normal } from './random.js';

/** The article's two experiments: how many pairs, how many queries, how many keys a query. */
export const PAIRS = 10000;
export const QUERIES = 2000;
export const KEYS = 16;

/**
 * dotSpread: the standard deviation of q·k over `pairs` pairs of normal vectors of one width
 * @param {{width: number, pairs: number, seed: number}} options
 * @returns {Generator<number, {std: number, standardError: number}, void>} yields the pairs done so far
 */
export function* dotSpread({ width, pairs, seed }) {
  const draw = normal(seed);
  let sum = 0;
  let squares = 0;
  for (let pair = 1; pair <= pairs; pair++) {
    let product = 0;
    for (let i = 0; i < width; i++) product += draw() * draw();
    sum += product;
    squares += product * product;
    if (pair % 50 === 0) yield pair;
  }
  const mean = sum / pairs;
  return { std: Math.sqrt(squares / pairs - mean * mean), standardError: spreadError(width, pairs) };
}

/**
 * spreadTheory: the products' spread is √width, since each of the `width` terms has mean 0 and variance 1 and variances of independent terms add
 * @param {number} width
 * @returns {number}
 */
export function spreadTheory(width) {
  return Math.sqrt(width);
}

/**
 * spreadError: the standard error of a measured spread. For x = q·k, E[x²] = d and E[x⁴] = 3d² + 6d, so the variance of the mean of x² is (2d² + 6d)/n;
 * the square root's derivative 1/(2√d) brings it to √((2d + 6)/n)/2.
 * @param {number} width
 * @param {number} pairs
 * @returns {number}
 */
export function spreadError(width, pairs) {
  return Math.sqrt((2 * width + 6) / pairs) / 2;
}

/**
 * topWeight: the mean of the largest softmax weight when a normal query meets `keys` normal keys, with the scores as they are and divided by √width
 * @param {{width: number, queries: number, keys: number, seed: number}} options
 * @returns {Generator<number, {plain: Measured, scaled: Measured}, void>} yields the queries done so far
 * @typedef {{mean: number, standardError: number}} Measured
 */
export function* topWeight({ width, queries, keys, seed }) {
  const draw = normal(seed);
  const plain = [];
  const scaled = [];
  const divisor = Math.sqrt(width);
  for (let i = 1; i <= queries; i++) {
    const query = Array.from({ length: width }, draw);
    const scores = Array.from({ length: keys }, () => query.reduce((sum, x) => sum + x * draw(), 0));
    plain.push(Math.max(...softmax(scores)));
    scaled.push(Math.max(...softmax(scores.map((s) => s / divisor))));
    if (i % 5 === 0) yield i;
  }
  return { plain: measured(plain), scaled: measured(scaled) };
}

/**
 * measured: mean of a sample and the standard error of that mean
 * @param {number[]} sample
 * @returns {Measured}
 */
function measured(sample) {
  const mean = sample.reduce((a, b) => a + b, 0) / sample.length;
  const variance = sample.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (sample.length - 1);
  return { mean, standardError: Math.sqrt(variance / sample.length) };
}

/**
 * finish: run an experiment to its end at once
 * @template T
 * @param {Generator<number, T, void>} experiment
 * @returns {T}
 */
export function finish(experiment) {
  for (;;) {
    const step = experiment.next();
    if (step.done) return step.value;
  }
}
