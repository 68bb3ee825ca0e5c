// The page's end of the border in a browser: starts the worker; says what a source's strings mean here.

import { normalizeWith } from './source.js';

/**
 * @param {{worker?: boolean}} options
 * @returns {Promise<import('./client.js').Port>}
 */
export async function openPort({ worker = true }) {
  if (!worker) return (await import('./in_process.js')).openInProcess();
  const thread = new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'lookback' });
  return {
    post: (message, transfer = []) => thread.postMessage(message, transfer),
    onMessage: (listener) => thread.addEventListener('message', ({ data }) => listener(data)),
    onDeath: (listener) => {
      thread.addEventListener('error', (event) => {
        event.preventDefault?.();
        listener(`the engine's worker failed: ${event.message || 'its script could not be loaded'}`);
      });
      thread.addEventListener('messageerror', () => listener("a message of the engine's worker could not be read"));
    },
    close: () => thread.terminate(),
  };
}

/** @param {any} source */
export async function normalizeSource(source) {
  // Relative addresses are the page's, not the worker script's.
  return normalizeWith(source, (text) => ({ kind: 'url', url: new URL(text, globalThis.location.href).href }));
}

let askedToPersist = false;

/** Asks once a visit that the browser keep what was stored; an answer of no changes nothing else. */
export async function keepStored() {
  if (askedToPersist) return;
  askedToPersist = true;
  try {
    if (!(await navigator.storage.persisted())) await navigator.storage.persist();
  } catch {
    // No storage manager here: nothing to ask.
  }
}
