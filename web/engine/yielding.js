// Letting other messages in between two slices of work.

/** @type {(() => void)[]} */
const waiting = [];
/** @type {MessageChannel | null} */
let channel = null;

/**
 * Resolves after messages that have come in were handled. setTimeout would wait 4 ms a time in browsers.
 * @returns {Promise<void>}
 */
export function yieldToEvents() {
  const { setImmediate } = /** @type {any} */ (globalThis);
  if (setImmediate) return new Promise((resolve) => setImmediate(resolve));
  if (!channel) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => waiting.shift()();
  }
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(null);
  });
}
