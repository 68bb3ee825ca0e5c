/** Words of the toy vocabulary as vectors, and the head that the walkthrough used. */
import { EMBEDDING, VOCAB, WK, WQ, WV } from './toy_data.js';

export const EMBEDDED_WORDS = VOCAB;

/** @type {import('./maths/attention.js').Head} */
export const STORED_HEAD = { WQ, WK, WV };

/**
 * embed: the rows of EMBEDDING for these words, all in the vocabulary
 * @param {string[]} words
 * @returns {import('./maths/linear.js').Matrix} [words, 4]
 */
export function embed(words) {
  return words.map((word) => EMBEDDING[VOCAB.indexOf(word)]);
}

/**
 * neighbourPairs: ordered pairs of places in a text that are at most `reach` apart
 * @param {number} words
 * @param {number} reach
 * @returns {number}
 */
export function neighbourPairs(words, reach) {
  let pairs = 0;
  for (let distance = 1; distance <= reach; distance++) pairs += 2 * Math.max(0, words - distance);
  return pairs;
}
