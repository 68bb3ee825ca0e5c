// How far a runtime's numbers are from the float64 reference, at the last position of the article's words.
import { readNpz } from './npz.mjs';

const reference = readNpz(
  new URL('../../../tests/data/reference/forward_words.npz', import.meta.url).pathname,
  'logits_last',
);
const logSum = Math.log(reference.reduce((sum, x) => sum + Math.exp(x), 0));

/**
 * @param {{logits?: number[], ids?: number[], logProbabilities?: number[]}} answer
 * @returns {{error: number, of: string}} the largest difference of any logit; of a runtime that gives only the top log-probabilities, of those
 */
export function logitError({ logits, ids, logProbabilities }) {
  if (logits) {
    if (logits.length !== reference.length) throw new Error(`${logits.length} logits, expected ${reference.length}`);
    return { error: logits.reduce((most, x, i) => Math.max(most, Math.abs(x - reference[i])), 0), of: 'all logits' };
  }
  const error = logProbabilities.reduce((most, x, i) => Math.max(most, Math.abs(x - (reference[ids[i]] - logSum))), 0);
  return { error, of: `top ${ids.length} log-probabilities` };
}
