// One file of a source, wherever it is: its name, its neighbours, and for small ones its text.
// Owns: references to files. May touch: download, sniff. Start reading at: FileRef in source.js.

import { concatBytes } from './bytes.js';
import { downloadAll } from './download.js';
import { LookbackError } from './errors.js';

/** @typedef {import('./source.js').FileRef} FileRef */

/**
 * Files by path, where there are any.
 * @typedef {object} PathReader
 * @property {(path: string) => Promise<{bytes: number, isFolder: boolean} | null>} stat
 * @property {(path: string, chunkBytes: number) => AsyncGenerator<Uint8Array, void, void>} chunks
 * @property {(folder: string) => Promise<string[]>} list
 * @property {(...parts: string[]) => string} join
 * @property {(path: string) => string} dirname
 * @property {(...parts: string[]) => string} resolve
 */

/**
 * What the sentence of an error calls it.
 * @param {FileRef} ref
 */
export function whereIs(ref) {
  if (ref.kind === 'url') return ref.url;
  return ref.kind === 'path' ? ref.path : (ref.name ?? 'the bytes handed over');
}

/** @param {FileRef} ref */
export function nameOf(ref) {
  if (ref.kind === 'url') return decodeURIComponent(new URL(ref.url).pathname.split('/').pop() || 'weights');
  if (ref.kind === 'path') return ref.path.split(/[\\/]/).pop();
  return ref.name ?? 'weights';
}

/**
 * A file beside this one; null where there is no beside.
 * @param {FileRef} ref
 * @param {string} name      may begin with ../
 * @param {PathReader | null} paths
 * @returns {FileRef | null}
 */
export function beside(ref, name, paths) {
  if (ref.kind === 'url') {
    const url = new URL(name.split('/').map(encodeURIComponent).join('/'), ref.url);
    url.search = new URL(ref.url).search;
    return { kind: 'url', url: url.href };
  }
  if (ref.kind === 'path') return { kind: 'path', path: paths.resolve(paths.dirname(ref.path), name) };
  return null;
}

/**
 * The text of a small file; null where it is not there.
 * @param {FileRef} ref
 * @param {{paths: PathReader | null, fetch?: typeof fetch, tuning?: any, signal?: AbortSignal}} environment
 * @returns {Promise<string | null>}
 */
export async function textOf(ref, { paths, fetch, tuning, signal }) {
  if (ref.kind === 'blob') return ref.blob.text();
  if (ref.kind === 'path') {
    const found = await paths.stat(ref.path);
    if (!found || found.isFolder) return null;
    const parts = [];
    for await (const chunk of paths.chunks(ref.path, 1 << 20)) parts.push(chunk);
    return new TextDecoder().decode(concatBytes(parts));
  }
  try {
    return new TextDecoder().decode(await downloadAll(ref.url, { fetch, tuning, signal }));
  } catch (error) {
    if (error instanceof LookbackError && error.code === 'not_found') return null;
    throw error;
  }
}
