// The dispatcher in the caller's own thread, behind the same port as a worker.

import { createBackend } from '#backend';
import { createDispatcher } from './dispatcher.js';

/** @returns {import('./client.js').Port} */
export function openInProcess() {
  /** @type {(message: any) => void} */
  let listener = () => {};
  let closed = false;
  const dispatcher = createDispatcher({
    ...createBackend(),
    // Answers come later, as a worker's do: a caller never sees one before its own call returned.
    post: (message) => queueMicrotask(() => !closed && listener(message)),
  });
  return {
    post: (message) => dispatcher.receive(message),
    onMessage: (next) => (listener = next),
    onDeath: () => {},
    close: () => {
      closed = true;
      dispatcher.close();
    },
  };
}
