// Node's worker thread: makes the backend, hands messages to the dispatcher.

import { parentPort } from 'node:worker_threads';
import { createBackend } from '#backend';
import { createDispatcher } from './dispatcher.js';

const dispatcher = createDispatcher({
  ...createBackend(),
  post: (/** @type {object} */ message, /** @type {any} */ transfer) => parentPort.postMessage(message, transfer),
});
parentPort.on('message', (message) => dispatcher.receive(message));
