// The browser's worker: makes the backend, hands messages to the dispatcher.

import { createBackend } from '#backend';
import { createDispatcher } from './dispatcher.js';

const scope = /** @type {any} */ (self);
const dispatcher = createDispatcher({
  ...createBackend(),
  post: (/** @type {object} */ message, /** @type {Transferable[]} */ transfer) => scope.postMessage(message, transfer),
});
scope.onmessage = (/** @type {MessageEvent} */ { data }) => dispatcher.receive(data);
