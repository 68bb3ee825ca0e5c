// A model's source as plain data that crosses to the worker: {weights, config?, tokenizer?, external?} of file references.
// Owns: the shape of a reference. Start reading at: normalizeWith.

import { LookbackError } from './errors.js';

/**
 * Where one file is: an address, bytes, or (in Node) a path.
 * @typedef {{kind: 'url', url: string} | {kind: 'blob', blob: Blob, name: string | null} | {kind: 'path', path: string}} FileRef
 * @typedef {{weights: FileRef, config?: FileRef, tokenizer?: FileRef, external?: Record<string, FileRef>}} Source
 */

/**
 * @param {any} source   see ModelSource in index.d.ts
 * @param {(text: string) => FileRef} fromText   what a string means here
 * @returns {Source}
 */
export function normalizeWith(source, fromText) {
  /** @param {any} value @param {string} what @returns {FileRef} */
  const file = (value, what) => {
    if (value instanceof URL) return fromText(value.href);
    if (typeof value === 'string' && value !== '') return fromText(value);
    if (value instanceof Blob) return { kind: 'blob', blob: value, name: /** @type {any} */ (value).name ?? null };
    if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
      return { kind: 'blob', blob: new Blob([/** @type {any} */ (value)]), name: null };
    }
    throw new LookbackError(
      'bad_argument',
      `${what} is ${describe(value)}, expected an address, a path, a File or Blob, or bytes`,
    );
  };
  const isFile = (/** @type {any} */ value) =>
    typeof value === 'string' ||
    value instanceof URL ||
    value instanceof Blob ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value);
  if (isFile(source)) return { weights: file(source, 'source') };
  if (source === null || typeof source !== 'object' || source.weights === undefined) {
    throw new LookbackError(
      'bad_argument',
      `source is ${describe(source)}, expected a file or {weights, config, tokenizer}`,
    );
  }
  /** @type {Source} */
  const normalized = { weights: file(source.weights, 'source.weights') };
  if (source.config !== undefined) normalized.config = file(source.config, 'source.config');
  if (source.tokenizer !== undefined) normalized.tokenizer = file(source.tokenizer, 'source.tokenizer');
  if (source.external !== undefined) {
    normalized.external = Object.fromEntries(
      Object.entries(source.external).map(([name, value]) => [name, file(value, `source.external["${name}"]`)]),
    );
  }
  return normalized;
}

/** @param {any} value */
const describe = (value) =>
  value === ''
    ? 'an empty string'
    : value === null || typeof value !== 'object'
      ? String(value)
      : `a ${value.constructor?.name ?? 'bare'} object`;
