// The caller's end of the border in Node: the dispatcher in this thread, or a worker thread; paths beside addresses.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { openInProcess } from './in_process.js';
import { normalizeWith } from './source.js';

/**
 * @param {{worker?: boolean}} options
 * @returns {Promise<import('./client.js').Port>}
 */
export async function openPort({ worker = false }) {
  if (!worker) return openInProcess();
  const thread = new Worker(new URL('./worker_node.js', import.meta.url), { name: 'lookback' });
  thread.unref();
  let closed = false;
  return {
    post: (message, transfer = []) => thread.postMessage(message, /** @type {any} */ (transfer)),
    onMessage: (listener) => thread.on('message', listener),
    onDeath: (listener) => {
      thread.on('error', (error) => listener(`the engine's worker failed: ${error.message}`));
      thread.on('messageerror', () => listener("a message of the engine's worker could not be read"));
      thread.on('exit', (code) => closed || listener(`the engine's worker ended with code ${code}`));
    },
    close: () => {
      closed = true;
      thread.terminate();
    },
    // An idle worker does not keep the process alive.
    keepAlive: (busy) => (busy ? thread.ref() : thread.unref()),
  };
}

/** @param {any} source */
export async function normalizeSource(source) {
  return normalizeWith(source, (text) => {
    if (/^https?:\/\//i.test(text)) return { kind: 'url', url: new URL(text).href };
    return { kind: 'path', path: /^file:\/\//i.test(text) ? fileURLToPath(text) : resolve(text) };
  });
}

/** Node stores nothing. */
export async function keepStored() {}
