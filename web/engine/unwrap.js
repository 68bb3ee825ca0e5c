// The engine's answers as values and exceptions.

import { LookbackError } from './errors.js';

/**
 * The value of an engine's answer, or its error thrown.
 * @param {any} answer
 */
export function unwrap(answer) {
  if (answer.ok) return answer.value;
  throw new LookbackError(answer.code, answer.message, { offset: answer.offset });
}
