// loadModel, Model and Pass: requests to the worker, in the words of index.d.ts.
// Owns: handles of passes and their life. May touch: client, protocol, errors. Start reading at: createLoader.

import { Client } from './client.js';
import { cancelled, LookbackError, throwIfAborted } from './errors.js';
import { EVENTS, VERBS } from './protocol.js';

/** @typedef {import('./index.d.ts').ModelSource} ModelSource */
/** @typedef {import('./index.d.ts').LoadOptions} LoadOptions */
/** @typedef {import('./index.d.ts').ModelInfo} ModelInfo */
/** @typedef {import('./index.d.ts').Token} Token */

/**
 * What differs between browser and Node: how a worker is started and what a source's strings mean.
 * @typedef {object} PortKind
 * @property {(options: {worker?: boolean}) => Promise<import('./client.js').Port>} openPort
 * @property {(source: any) => Promise<import('./source.js').Source>} normalizeSource
 * @property {() => Promise<void>} keepStored
 */

/** How long a given-up load may take to put its part of the download away before its worker is ended. */
const LOAD_CANCEL_GRACE_MS = 1000;

/**
 * Frees what was never disposed: a guard against leaks, not a plan.
 * @type {FinalizationRegistry<() => void>}
 */
const leakGuard = new FinalizationRegistry((free) => free());

/**
 * Opens a worker (or this thread) and loads the weights into it.
 * @param {PortKind} kind
 * @param {import('./source.js').Source} source
 * @param {LoadOptions} options
 * @returns {Promise<{client: Client, info: ModelInfo}>}
 */
async function openLoaded({ openPort, keepStored }, source, { signal, onProgress, worker, ...options }) {
  throwIfAborted(signal);
  const client = new Client(await openPort({ worker }));
  let loading;
  try {
    // Asked together: an answer takes as long as this thread is busy with its page.
    const hello = client.hello();
    loading = client.request(
      VERBS.load,
      { source, options },
      // The signal is watched below, so that an abort can wait for the worker to put the download away.
      { onEvent: (event, value) => event === EVENTS.progress && onProgress?.(value) },
    );
    loading.catch(() => {}); // where the greeting fails, that is what is said
    await hello;
    const info = await abortable(loading, signal, () => {
      client.send(VERBS.cancel, { all: true });
    });
    if (info.weights.stored !== 'none') keepStored();
    return { client, info };
  } catch (error) {
    const end = () => client.close(new LookbackError('disposed', 'the load was given up'));
    if (signal?.aborted && loading) {
      const timer = setTimeout(end, LOAD_CANCEL_GRACE_MS);
      loading
        .catch(() => {})
        .finally(() => {
          clearTimeout(timer);
          end();
        });
    } else {
      end();
    }
    throw error;
  }
}

/**
 * A promise that rejects at once when the signal aborts.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal | undefined} signal
 * @param {() => void} onAbort
 * @returns {Promise<T>}
 */
function abortable(promise, signal, onAbort) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => {
      onAbort();
      reject(cancelled());
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * The package's two ways in, over one kind of port.
 * @param {PortKind} kind
 */
export function createLoader(kind) {
  return {
    /**
     * @param {ModelSource} source
     * @param {LoadOptions} [options]
     * @returns {Promise<Model>}
     */
    loadModel: async (source, options = {}) => {
      const normalized = await kind.normalizeSource(source);
      const { client, info } = await openLoaded(kind, normalized, options);
      return new Model(privately, kind, client, info, normalized, options);
    },

    /**
     * @param {ModelSource} source
     * @param {{signal?: AbortSignal, worker?: boolean}} [options]
     * @returns {Promise<import('./index.d.ts').Inspection>}
     */
    inspectFile: async (source, { signal, worker } = {}) => {
      throwIfAborted(signal);
      const normalized = await kind.normalizeSource(source);
      const client = new Client(await kind.openPort({ worker }));
      try {
        await client.hello();
        return await client.request(VERBS.inspect, { source: normalized }, { signal });
      } finally {
        client.close(new LookbackError('disposed', 'the inspection has ended'));
      }
    },
  };
}

/** Models and passes are made here only. */
const privately = Symbol('lookback');

export class Model {
  #kind;
  #client;
  #info;
  #source;
  #options;
  #disposed = false;
  /** Whether the present worker has answered anything since it was loaded. */
  #proven = true;
  /** @type {Promise<void> | null} */
  #reload = null;

  /**
   * @param {symbol} token
   * @param {PortKind} kind
   * @param {Client} client
   * @param {ModelInfo} info
   * @param {any} source
   * @param {LoadOptions} options
   */
  constructor(token, kind, client, info, source, options) {
    if (token !== privately) throw new TypeError('a Model comes from loadModel');
    this.#kind = kind;
    this.#client = client;
    this.#info = info;
    this.#source = source;
    this.#options = options;
    leakGuard.register(this, () => client.close(new LookbackError('disposed', 'the model was collected')), this);
  }

  get info() {
    return this.#info;
  }

  /**
   * @param {string} text
   * @param {{special?: boolean}} [options]
   */
  async tokenize(text, { special = true } = {}) {
    return (await this.#request(VERBS.tokenize, { text, special })).value;
  }

  /**
   * @param {ArrayLike<number>} ids
   * @param {{skipSpecial?: boolean}} [options]
   */
  async detokenize(ids, { skipSpecial = false } = {}) {
    return (await this.#request(VERBS.detokenize, { ids: Array.from(ids), skipSpecial })).value;
  }

  /** @param {import('./index.d.ts').ChatMessage[]} messages */
  async chat(messages) {
    return (await this.#request(VERBS.chat, { messages })).value;
  }

  /**
   * @param {string | ArrayLike<number>} textOrIds
   * @param {import('./index.d.ts').ForwardOptions} [options]
   */
  async forward(textOrIds, { keep = 'rows', off = [], signal } = {}) {
    const { value, client } = await this.#request(
      VERBS.forward,
      { ...prompt(textOrIds), keep, off },
      { signal, onLate: (late, lateClient) => lateClient.send(VERBS.disposePass, { pass: late.pass }) },
    );
    return new Pass(privately, client, value.pass, value.tokens);
  }

  /**
   * @param {string | ArrayLike<number>} textOrIds
   * @param {import('./index.d.ts').GenerateOptions} [options]
   * @returns {AsyncGenerator<import('./index.d.ts').GeneratedToken, import('./index.d.ts').FinishReason, void>}
   */
  async *generate(textOrIds, { signal, ...options } = {}) {
    const opened = await this.#request(
      VERBS.openGeneration,
      { ...prompt(textOrIds), ...options },
      { signal, onLate: (late, lateClient) => lateClient.send(VERBS.closeGeneration, { generation: late.generation }) },
    );
    const client = opened.client;
    const { generation } = opened.value;
    /** @type {Token[]} */
    let tokens = opened.value.tokens;
    try {
      for (;;) {
        const step = await client.request(
          VERBS.nextToken,
          { generation },
          { signal, onLate: (late) => late.pass !== undefined && client.send(VERBS.disposePass, { pass: late.pass }) },
        );
        if (step.finish) return step.finish;
        // The tail is sent again while a character is still incomplete.
        tokens = [...tokens.slice(0, step.settled), ...step.tail];
        yield { id: step.id, text: step.text, pass: new Pass(privately, client, step.pass, tokens) };
      }
    } finally {
      if (!client.death) client.send(VERBS.closeGeneration, { generation });
    }
  }

  async dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    leakGuard.unregister(this);
    const client = this.#client;
    if (client.death) return;
    // Frees the engine's memory where this thread holds it; a worker is simply ended.
    await client.request(VERBS.dispose, {}).catch(() => {});
    client.close(new LookbackError('disposed', 'the model was disposed'));
  }

  /**
   * @param {string} verb
   * @param {object} args
   * @param {{signal?: AbortSignal, onLate?: (value: any, client: Client) => void}} [options]
   * @returns {Promise<{value: any, client: Client}>}
   */
  async #request(verb, args, { signal, onLate } = {}) {
    throwIfAborted(signal);
    if (!this.#disposed && this.#client.death) await abortable(this.#revive(), signal, () => {});
    if (this.#disposed) throw new LookbackError('disposed', `${verb}: the model was disposed`);
    const client = this.#client;
    try {
      const value = await client.request(verb, args, { signal, onLate: onLate && ((late) => onLate(late, client)) });
      this.#proven = true;
      return { value, client };
    } catch (error) {
      if (!client.death) this.#proven = true;
      else if (this.#disposed) throw new LookbackError('disposed', `${verb}: the model was disposed`);
      throw error;
    }
  }

  /** After a dead worker: one reload, shared by all who ask; none when the reloaded one died before it answered anything. */
  async #revive() {
    if (!this.#reload) {
      const death = /** @type {LookbackError} */ (this.#client.death);
      if (!this.#proven) throw death;
      this.#proven = false;
      this.#reload = openLoaded(this.#kind, this.#source, { ...this.#options, signal: undefined }).then(
        ({ client, info }) => {
          if (this.#disposed) return client.close(new LookbackError('disposed', 'the model was disposed'));
          leakGuard.unregister(this);
          leakGuard.register(this, () => client.close(new LookbackError('disposed', 'the model was collected')), this);
          this.#client = client;
          this.#info = info;
        },
      );
      this.#reload.catch(() => {}).finally(() => (this.#reload = null));
    }
    return this.#reload;
  }
}

/**
 * @param {string | ArrayLike<number>} textOrIds
 * @returns {{text: string} | {ids: number[]}}
 */
const prompt = (textOrIds) =>
  typeof textOrIds === 'string' ? { text: textOrIds } : { ids: Array.from(textOrIds ?? []) };

export class Pass {
  #client;
  #pass;
  #tokens;
  #disposed = false;

  /**
   * @param {symbol} token
   * @param {Client} client
   * @param {number} pass   handle
   * @param {Token[]} tokens
   */
  constructor(token, client, pass, tokens) {
    if (token !== privately) throw new TypeError('a Pass comes from Model.forward or Model.generate');
    this.#client = client;
    this.#pass = pass;
    this.#tokens = tokens;
    leakGuard.register(this, () => !client.death && client.send(VERBS.disposePass, { pass }), this);
  }

  get tokens() {
    return this.#tokens;
  }

  get length() {
    return this.#tokens.length;
  }

  /** @param {number} [position] */
  async logits(position) {
    return this.#read(VERBS.logits, { position });
  }

  /**
   * @param {number} k
   * @param {number} [position]
   */
  async top(k, position) {
    return this.#read(VERBS.top, { k, position });
  }

  /**
   * @param {number} layer
   * @param {number} head
   * @param {number} query
   */
  async row(layer, head, query) {
    return this.#read(VERBS.row, { layer, head, query });
  }

  /** @param {number} query */
  async look(query) {
    return this.#read(VERBS.look, { query });
  }

  /** @param {number} key */
  async lookedAtBy(key) {
    return this.#read(VERBS.lookedAtBy, { key });
  }

  /**
   * @param {number} layer
   * @param {number} head
   */
  async pattern(layer, head) {
    return this.#read(VERBS.pattern, { layer, head });
  }

  async average() {
    return this.#read(VERBS.average, {});
  }

  /**
   * @param {number} layer
   * @param {number} head
   * @param {number} query
   * @param {number} key
   */
  async products(layer, head, query, key) {
    return this.#read(VERBS.products, { layer, head, query, key });
  }

  /**
   * @param {number} layer
   * @param {number} head
   * @param {number} query
   */
  async written(layer, head, query) {
    return this.#read(VERBS.written, { layer, head, query });
  }

  async heads() {
    return this.#read(VERBS.heads, {});
  }

  /**
   * @param {number} [position]
   * @param {number} [k]
   */
  async lens(position, k = 5) {
    return this.#read(VERBS.lens, { position, k });
  }

  /**
   * @param {number} tokenId
   * @param {number} [position]
   * @param {{centred?: boolean}} [options]
   */
  async attribution(tokenId, position, { centred = false } = {}) {
    return this.#read(VERBS.attribution, { tokenId, position, centred });
  }

  /**
   * @param {number} tokenId
   * @param {number} [position]
   * @param {{signal?: AbortSignal, onProgress?: (progress: {done: number, total: number}) => void}} [options]
   * @returns {AsyncGenerator<import('./index.d.ts').HeadEffect, void, void>}
   */
  async *effects(tokenId, position, { signal, onProgress } = {}) {
    /** @type {any[]} */
    const ready = [];
    let wake = () => {};
    let finished = false;
    /** @type {unknown} */
    let failure = null;
    const stop = new AbortController();
    const forward = () => stop.abort();
    throwIfAborted(signal);
    signal?.addEventListener('abort', forward, { once: true });
    this.#read(
      VERBS.effects,
      { tokenId, position },
      {
        signal: stop.signal,
        onEvent: (event, value) => {
          if (event !== EVENTS.effects) return;
          ready.push(...value.rows);
          onProgress?.({ done: value.done, total: value.total });
          wake();
        },
      },
    )
      .catch((error) => (failure = error))
      .finally(() => {
        finished = true;
        wake();
      });
    try {
      for (;;) {
        if (failure && /** @type {any} */ (failure).code === 'cancelled') throw failure;
        if (ready.length > 0) yield ready.shift();
        else if (failure) throw failure;
        else if (finished) return;
        else await new Promise((resolve) => (wake = () => resolve(undefined)));
      }
    } finally {
      signal?.removeEventListener('abort', forward);
      stop.abort();
    }
  }

  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    leakGuard.unregister(this);
    if (!this.#client.death) this.#client.send(VERBS.disposePass, { pass: this.#pass });
  }

  /**
   * @param {string} verb
   * @param {object} args
   * @param {object} [options]
   */
  async #read(verb, args, options) {
    if (this.#disposed) throw new LookbackError('disposed', `${verb}: the pass was disposed`);
    if (this.#client.death) throw lost(verb, this.#client.death);
    try {
      return await this.#client.request(verb, { pass: this.#pass, ...args }, options);
    } catch (error) {
      // The answer of a pass disposed meanwhile says so, whatever came first.
      if (this.#disposed) throw new LookbackError('disposed', `${verb}: the pass was disposed`);
      throw error;
    }
  }
}

/**
 * @param {string} verb
 * @param {LookbackError} death
 */
function lost(verb, death) {
  const why =
    death.code === 'disposed' ? 'its model was disposed' : 'it was lost when the engine stopped; run forward again';
  return new LookbackError('disposed', `${verb}: the pass is gone: ${why}`);
}
