// Checks of what callers hand in, before anything of it reaches the engine.

import { LookbackError } from './errors.js';

/**
 * @param {any} value
 * @param {string} name
 * @param {number} least
 */
export function checkWhole(value, name, least) {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new LookbackError('bad_argument', `${name} is ${String(value)}, expected a whole number from ${least}`);
  }
}

/**
 * @param {any} value
 * @param {string} name
 */
export const checkCount = (value, name) => checkWhole(value, name, 0);

/** @param {any} text */
export function checkText(text) {
  if (typeof text !== 'string')
    throw new LookbackError('bad_argument', `the text is a ${typeof text}, expected a string`);
}

/**
 * @param {any} ids
 * @param {number} vocab
 * @param {{emptyAllowed?: boolean}} [options]
 * @returns {Int32Array}
 */
export function checkIds(ids, vocab, { emptyAllowed = false } = {}) {
  if (!Array.isArray(ids)) throw new LookbackError('bad_argument', 'the ids are no list, expected whole numbers');
  if (ids.length === 0 && !emptyAllowed)
    throw new LookbackError('empty_prompt', 'the list of ids is empty, expected at least one');
  ids.forEach((id, index) => {
    if (!Number.isInteger(id) || id < 0 || id >= vocab) {
      throw new LookbackError(
        'bad_token',
        `id ${String(id)} at ${index} is outside the vocabulary, expected a whole number from 0 to ${vocab - 1}`,
      );
    }
  });
  return Int32Array.from(ids);
}

/**
 * Switches as the engine takes them: quadruples [layer, head, query, key], -1 for a whole head.
 * @param {any} off
 * @param {{layers: number, heads: number}} info
 * @returns {Int32Array}
 */
export function checkOff(off, { layers, heads }) {
  if (!Array.isArray(off))
    throw new LookbackError('bad_argument', 'off is no list, expected {layer, head} or {layer, head, query, key}');
  return Int32Array.from(
    off.flatMap((each, index) => {
      const where = `off[${index}]`;
      const { layer, head, query, key } = each ?? {};
      inRange(layer, layers, `${where}.layer`);
      inRange(head, heads, `${where}.head`);
      if (query === undefined && key === undefined) return [layer, head, -1, -1];
      checkWhole(query, `${where}.query`, 0);
      checkWhole(key, `${where}.key`, 0);
      if (key > query)
        throw new LookbackError('bad_argument', `${where}: query ${query} never sees the later key ${key}`);
      return [layer, head, query, key];
    }),
  );
}

/**
 * @param {any} value
 * @param {number} count
 * @param {string} name
 */
function inRange(value, count, name) {
  if (!Number.isInteger(value) || value < 0 || value >= count) {
    throw new LookbackError(
      'bad_argument',
      `${name} is ${String(value)}, expected a whole number from 0 to ${count - 1}`,
    );
  }
}
