// The choice of the next token from logits. Owns: the order of the filters and the random numbers. Start reading at: createSampler.

import { LookbackError } from './errors.js';

/**
 * mulberry32 (Tommy Ettinger, 2017, public domain): 32 bits of state, one number in [0, 1) a call. Seeded so that a run can be repeated;
 * not meant for secrets.
 * @param {number} seed
 */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Temperature 0: the highest logit (the lowest id of equals). Else: logits / temperature, then the topK highest, then the fewest of these
 * whose probability (over what topK left) reaches topP, then one draw among them.
 * @param {{temperature?: number, topK?: number, topP?: number, seed?: number}} options
 * @returns {(logits: Float32Array) => number}
 */
export function createSampler({ temperature = 0, topK = 0, topP = 1, seed = 0 } = {}) {
  check(temperature >= 0 && Number.isFinite(temperature), 'temperature', temperature, 'a number from 0 up');
  check(Number.isInteger(topK) && topK >= 0, 'topK', topK, 'a whole number, 0 for all');
  check(topP > 0 && topP <= 1, 'topP', topP, 'a number over 0 and up to 1');
  check(Number.isInteger(seed) && seed >= 0 && seed <= 0xffffffff, 'seed', seed, 'a whole number below 2^32');
  if (temperature === 0) return argmax;
  const random = seededRandom(seed);
  return (logits) => {
    let ids = Array.from(logits.keys());
    ids.sort((a, b) => logits[b] - logits[a] || a - b);
    if (topK > 0) ids = ids.slice(0, topK);
    const highest = logits[ids[0]];
    const weights = ids.map((id) => Math.exp((logits[id] - highest) / temperature));
    let total = weights.reduce((sum, weight) => sum + weight, 0);
    if (topP < 1) {
      let kept = 0;
      let count = 0;
      while (count < ids.length && kept < topP * total) kept += weights[count++];
      ids = ids.slice(0, count);
      total = kept;
    }
    let left = random() * total;
    for (let index = 0; index < ids.length; index++) {
      left -= weights[index];
      if (left < 0) return ids[index];
    }
    return ids[ids.length - 1];
  };
}

/** @param {Float32Array} logits */
export function argmax(logits) {
  let best = 0;
  for (let id = 1; id < logits.length; id++) if (logits[id] > logits[best]) best = id;
  return best;
}

/**
 * @param {boolean} fine
 * @param {string} name
 * @param {unknown} value
 * @param {string} expected
 */
function check(fine, name, value, expected) {
  if (!fine) throw new LookbackError('bad_argument', `${name} is ${String(value)}, expected ${expected}`);
}
