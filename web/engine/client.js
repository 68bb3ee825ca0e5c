// The page's side of the border: one promise per request, events to their request, cancel, and the end of a dead worker.
// Owns: request ids. May touch: protocol, errors. Start reading at: Client.request.

import { errorFromMessage, cancelled, LookbackError } from './errors.js';
import { EVENTS, PROTOCOL_VERSION, VERBS } from './protocol.js';

/**
 * What carries messages: a worker, a thread, or the dispatcher in this very thread.
 * @typedef {object} Port
 * @property {(message: object, transfer?: Transferable[]) => void} post
 * @property {(listener: (message: any) => void) => void} onMessage
 * @property {(listener: (reason: string) => void) => void} onDeath   the other side ended by itself
 * @property {() => void} close
 * @property {(busy: boolean) => void} [keepAlive]   whether open requests should hold the process (Node)
 */

export class Client {
  /** @type {Port} */
  #port;
  #nextId = 1;
  /** @type {Map<number, {resolve: Function, reject: Function, onEvent?: Function, onLate?: Function, settled: boolean, forget: () => void}>} */
  #requests = new Map();
  /** @type {LookbackError | null} */
  #death = null;

  /** @param {Port} port */
  constructor(port) {
    this.#port = port;
    port.onMessage((message) => this.#receive(message));
    port.onDeath((reason) => this.#die(new LookbackError('fatal', reason)));
  }

  /** Compares versions; rejects when page and worker come from different releases. */
  async hello() {
    const { version } = await this.request(VERBS.hello, { version: PROTOCOL_VERSION });
    if (version !== PROTOCOL_VERSION) {
      throw new LookbackError(
        'protocol_mismatch',
        `the worker speaks protocol ${version}, this page ${PROTOCOL_VERSION}; reload the page`,
      );
    }
  }

  /** Why nothing can be asked any more, or null. */
  get death() {
    return this.#death;
  }

  /**
   * @param {string} verb
   * @param {object} args
   * @param {{signal?: AbortSignal, onEvent?: (event: string, value: any) => void, onLate?: (value: any) => void, transfer?: Transferable[]}} [options]
   *   onLate gets an answer that came after the request was given up, so that what it holds can be freed
   * @returns {Promise<any>}
   */
  request(verb, args, { signal, onEvent, onLate, transfer } = {}) {
    if (this.#death) return Promise.reject(this.#death);
    if (signal?.aborted) return Promise.reject(cancelled());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        const request = this.#requests.get(id);
        if (!request || request.settled) return;
        // The caller is answered at once; the id stays known until the other side has stopped.
        request.settled = true;
        this.#port.post({ id: this.#nextId++, verb: VERBS.cancel, args: { id } });
        reject(cancelled());
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#requests.set(id, {
        resolve,
        reject,
        onEvent,
        onLate,
        settled: false,
        forget: () => signal?.removeEventListener('abort', onAbort),
      });
      this.#port.keepAlive?.(true);
      try {
        this.#port.post({ id, verb, args }, transfer);
      } catch (error) {
        this.#forget(id);
        reject(
          new LookbackError(
            'bad_argument',
            `${verb}: an argument cannot be sent to the worker (${/** @type {Error} */ (error).message})`,
          ),
        );
      }
    });
  }

  /**
   * A request whose answer nobody waits for (freeing things); never throws.
   * @param {string} verb
   * @param {object} args
   */
  send(verb, args) {
    this.request(verb, args).catch(() => {});
  }

  /**
   * Ends the other side; open requests are rejected with this error.
   * @param {LookbackError} reason
   */
  close(reason) {
    this.#die(reason);
  }

  /** @param {any} message */
  #receive(message) {
    if (message.event === EVENTS.fatal) return this.#die(errorFromMessage(message.value));
    const request = this.#requests.get(message.id);
    if (!request) return; // an answer to a request that is no longer known
    if (message.event !== undefined) {
      if (!request.settled) request.onEvent?.(message.event, message.value);
      return;
    }
    this.#forget(message.id);
    if (request.settled) {
      if (message.ok) request.onLate?.(message.value);
    } else if (message.ok) {
      request.resolve(message.value);
    } else {
      request.reject(errorFromMessage(message.error));
    }
  }

  /** @param {number} id */
  #forget(id) {
    this.#requests.get(id)?.forget();
    this.#requests.delete(id);
    if (this.#requests.size === 0) this.#port.keepAlive?.(false);
  }

  /** @param {LookbackError} reason */
  #die(reason) {
    if (this.#death) return;
    this.#death = reason;
    for (const [id, request] of [...this.#requests]) {
      this.#forget(id);
      if (!request.settled) request.reject(reason);
    }
    this.#port.close();
  }
}
