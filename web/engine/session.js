// One loaded model behind the dispatcher: its engine, tokenizer, passes and generations.
// Owns: handles, sharing of passes, slices and yielding. May touch: weights, tokenizer, sampler, chat. Start reading at: Session.load.

import { renderChat } from './chat_lazy.js';
import { cancelled, LookbackError, throwIfAborted } from './errors.js';
import { checkCount, checkIds, checkOff, checkText, checkWhole } from './arguments.js';
import { EVENTS } from './protocol.js';
import { bestStart } from './reuse.js';
import { createSampler } from './sampler.js';
import { unwrap } from './unwrap.js';
import { chooseVariant } from './variants.js';
import { inspectWeights, loadWeights } from './weights.js';
import { yieldToEvents } from './yielding.js';

/**
 * What the worker's surroundings give: probes, modules, files, network, storage.
 * @typedef {object} Environment
 * @property {() => Promise<import('./features.js').Features>} probe
 * @property {(choice: {name: string, threads: number}, weightBytes: number | null) => Promise<any>} loadModule   the Emscripten module
 * @property {import('./files.js').PathReader | null} paths    null where there are no paths
 * @property {() => Promise<import('./storage.js').Store>} openStorage
 * @property {() => Promise<{update: (bytes: Uint8Array) => void, hex: () => string}>} createHash   SHA-256
 * @property {typeof fetch} [fetch]
 * @property {import('./download.js').Tuning} [tuning]
 */

/**
 * One pass of the engine. A generation and a caller can both hold it.
 * @typedef {{pass: any, holders: number, ids: Int32Array, off: Int32Array, keep: string}} PassEntry
 */

/** Columns of the engine's head statistics, in its order, by their public names. */
const HEAD_STATISTICS = ['previous', 'first', 'self', 'induction', 'duplicate', 'entropy'];

/** Special tokens that end a turn or a text besides the model's own end token. */
const END_TOKENS = ['<|im_end|>', '<|endoftext|>'];

export class Session {
  #environment;
  /** @type {any} */
  #module = null;
  /** @type {any} */
  #engine = null;
  /** @type {import('./index.d.ts').ModelInfo} */
  #info = null;
  /** @type {import('./tokenizer.js').Tokenizer} */
  #tokenizer = null;
  #gone = false;
  /** Nothing of the module may be called any more, not even to free it. */
  #moduleGone = false;
  /** @type {Map<number, PassEntry>} */
  #passes = new Map();
  /** @type {Map<number, Generation>} */
  #generations = new Map();
  #nextHandle = 1;
  /** Runs under way that a caller waits for; effects let them go first. */
  #waitedFor = 0;

  /** @param {Environment} environment */
  constructor(environment) {
    this.#environment = environment;
  }

  // Loading

  /**
   * @param {{source: import('./source.js').Source, options: import('./index.d.ts').LoadOptions}} args
   * @param {import('./dispatcher.js').Context} context
   */
  async load({ source, options }, { signal, emit }) {
    if (this.#engine) throw new LookbackError('wrong_state', 'load: a model is loaded already');
    const { precision = 'exact', contextLength = 0 } = options;
    if (!['exact', 'fast'].includes(precision)) {
      throw new LookbackError('bad_argument', `precision is "${precision}", expected exact or fast`);
    }
    checkCount(contextLength, 'contextLength');
    const features = await this.#environment.probe();
    const choice = chooseVariant(features, options);
    const createEngine = async (/** @type {number | null} */ weightBytes) => {
      this.#module ??= await this.#environment.loadModule(choice, weightBytes);
      throwIfAborted(signal);
      return unwrap(this.#module.createEngine({ precision, threads: choice.threads, contextLength }));
    };
    const loaded = await loadWeights({
      source,
      options,
      environment: this.#environment,
      createEngine,
      signal,
      onProgress: (progress) => emit(EVENTS.progress, progress),
    });
    if (this.#gone) {
      loaded.engine.delete();
      throw cancelled();
    }
    this.#engine = loaded.engine;
    this.#tokenizer = loaded.tokenizer;
    const info = loaded.info;
    this.#info = {
      architecture: info.architecture,
      layers: info.layers,
      heads: info.heads,
      kvHeads: info.kvHeads,
      headDim: info.headDim,
      hidden: info.hidden,
      feedForward: info.feedForward,
      vocab: info.vocab,
      contextLength: info.contextLength,
      parameters: info.parameters,
      weights: { ...loaded.weights, dtypes: info.dtypes },
      precision: info.precision,
      threads: info.threads,
      threadsReason:
        info.threads === choice.threads
          ? choice.threadsReason
          : `${choice.threads} threads were to run, the engine could start ${info.threads}`,
      variant: info.variant,
      memoryBytes: unwrap(this.#engine.memory()).heapBytes,
    };
    return this.#info;
  }

  /**
   * @param {{source: import('./source.js').Source}} args
   * @param {import('./dispatcher.js').Context} context
   */
  async inspect({ source }, { signal }) {
    const choice = chooseVariant(await this.#environment.probe(), { threads: 1 });
    const module = await this.#environment.loadModule(choice, 0);
    return inspectWeights({
      source,
      environment: this.#environment,
      createEngine: async () => unwrap(module.createEngine({ precision: 'exact', threads: 1, contextLength: 0 })),
      signal,
    });
  }

  // Text

  /** @param {{text: string, special: boolean}} args */
  tokenize({ text, special }) {
    return this.#loaded('tokenize') && this.#encode(text, special);
  }

  /** @param {{ids: number[], skipSpecial: boolean}} args */
  detokenize({ ids, skipSpecial }) {
    this.#loaded('detokenize');
    return this.#tokenizer.decode(checkIds(ids, this.#info.vocab, { emptyAllowed: true }), { skipSpecial });
  }

  /** @param {{messages: any[]}} args */
  async chat({ messages }) {
    this.#loaded('chat');
    const { bosId, eosId } = this.#tokenizer;
    const text = await renderChat(this.#tokenizer.chatTemplate, messages, {
      bosToken: bosId === null ? '' : this.#tokenizer.text(bosId),
      eosToken: eosId === null ? '' : this.#tokenizer.text(eosId),
    });
    return this.#tokenizer.encode(text).map(({ id }) => id);
  }

  // Passes

  /**
   * @param {{text?: string, ids?: number[], keep: string, off: any[]}} args
   * @param {import('./dispatcher.js').Context} context
   */
  async forward(args, { signal }) {
    this.#loaded('forward');
    const { ids, tokens } = this.#prompt(args);
    const entry = await this.#run(ids, { keep: this.#keep(args.keep), off: this.#off(args.off), signal });
    return { pass: this.#hold(entry), tokens };
  }

  /** @param {{pass: number}} args */
  disposePass({ pass }) {
    const entry = this.#passes.get(pass);
    if (!entry) return;
    this.#passes.delete(pass);
    this.#release(entry);
  }

  /**
   * @param {any} args
   * @param {import('./dispatcher.js').Context} context
   */
  async openGeneration(args, { signal }) {
    this.#loaded('generate');
    const { maxTokens = 256, temperature, topK, topP, seed } = args;
    checkWhole(maxTokens, 'maxTokens', 0);
    const sample = createSampler({ temperature, topK, topP, seed });
    const { ids, tokens } = this.#prompt(args);
    const entry = await this.#run(ids, { keep: 'rows', off: this.#off(args.off), signal });
    const generation = this.#nextHandle++;
    this.#generations.set(generation, {
      entry,
      sample,
      left: maxTokens,
      prompt: tokens,
      generated: [],
      stream: this.#tokenizer.stream({ skipSpecial: true }),
      ends: this.#endIds(),
      finish: null,
    });
    return { generation, tokens };
  }

  /**
   * @param {{generation: number}} args
   * @param {import('./dispatcher.js').Context} context
   */
  async nextToken({ generation }, { signal }) {
    this.#loaded('generate');
    const state = this.#generations.get(generation);
    if (!state) throw new LookbackError('disposed', 'generate: this generation has ended');
    const length = state.entry.ids.length;
    if (!state.finish && (state.left === 0 || length === this.#info.contextLength)) state.finish = 'length';
    if (state.finish) {
      this.closeGeneration({ generation });
      return { finish: state.finish };
    }
    const logits = unwrap(state.entry.pass.logits(length - 1));
    const id = state.sample(logits);
    const ids = Int32Array.from([...state.entry.ids, id]);
    const next = await this.#run(ids, { keep: state.entry.keep, off: state.entry.off, signal, prefix: state.entry });
    if (this.#generations.get(generation) !== state) {
      this.#release(next);
      throw cancelled();
    }
    this.#release(state.entry);
    state.entry = next;
    state.left--;
    state.generated.push(id);
    if (state.ends.has(id)) state.finish = 'stop';
    else if (state.left === 0 || ids.length === this.#info.contextLength) state.finish = 'length';
    const text = state.stream.push(id) + (state.finish ? state.stream.flush() : '');
    next.holders++;
    return { id, text, pass: this.#hold(next), ...this.#tail(state) };
  }

  /** @param {{generation: number}} args */
  closeGeneration({ generation }) {
    const state = this.#generations.get(generation);
    if (!state) return;
    this.#generations.delete(generation);
    this.#release(state.entry);
  }

  // Reading a pass

  /**
   * @param {{pass: number}} args
   * @param {string} method   of the engine's pass
   * @param {...any} values
   */
  read({ pass }, method, ...values) {
    const entry = this.#pass(pass, method);
    values.forEach((value) => {
      if (!Number.isInteger(value) || value < 0 || value > 0x7fffffff) {
        throw new LookbackError(
          'bad_argument',
          `${method}: ${String(value)} is no index, expected a whole number from 0`,
        );
      }
    });
    return unwrap(entry.pass[method](...values));
  }

  /**
   * A request's position; default: the last.
   * @param {{pass: number, position?: number}} args
   */
  position({ pass, position }) {
    return position ?? this.#pass(pass, 'position').ids.length - 1;
  }

  /** @param {{pass: number, k: number, position?: number}} args */
  top(args) {
    checkWhole(args.k, 'k', 1);
    const k = Math.min(args.k, this.#loaded('top').vocab);
    return this.#topTokens(this.read(args, 'top', k, this.position(args)));
  }

  /** @param {{pass: number, k: number, position?: number}} args */
  lens(args) {
    checkWhole(args.k, 'k', 1);
    const { vocab, layers } = this.#loaded('lens');
    const k = Math.min(args.k, vocab);
    const all = this.read(args, 'lens', this.position(args), k);
    return Array.from({ length: layers + 1 }, (_, layer) => ({
      layer,
      top: this.#topTokens({
        ids: all.ids.subarray(layer * k, (layer + 1) * k),
        logits: all.logits.subarray(layer * k, (layer + 1) * k),
        probabilities: all.probabilities.subarray(layer * k, (layer + 1) * k),
      }),
    }));
  }

  /** @param {{pass: number}} args */
  heads(args) {
    const { layers, heads } = this.#loaded('heads');
    const flat = this.read(args, 'heads');
    return Array.from({ length: layers * heads }, (_, index) => {
      const row = { layer: Math.floor(index / heads), head: index % heads };
      HEAD_STATISTICS.forEach((name, column) => {
        const value = flat[index * HEAD_STATISTICS.length + column];
        row[name] = Number.isNaN(value) ? null : value;
      });
      return row;
    });
  }

  /** @param {{pass: number, tokenId: number, position?: number, centred: boolean}} args */
  attribution(args) {
    const entry = this.#pass(args.pass, 'attribution');
    checkIds([args.tokenId], this.#info.vocab);
    return unwrap(entry.pass.attribution(args.tokenId, this.position(args), Boolean(args.centred)));
  }

  /**
   * @param {{pass: number, tokenId: number, position?: number}} args
   * @param {import('./dispatcher.js').Context} context
   */
  async effects(args, { signal, emit }) {
    const { layers, heads } = this.#loaded('effects');
    const entry = this.#pass(args.pass, 'effects');
    checkIds([args.tokenId], this.#info.vocab);
    const total = layers * heads;
    const position = this.position(args);
    let done = 0;
    const effects = unwrap(entry.pass.effects(args.tokenId, position));
    try {
      for (;;) {
        const step = unwrap(effects.step());
        const rows = [];
        for (let at = 0; at < step.rows.length; at += 4) {
          const [layer, head, probability, kl] = step.rows.subarray(at, at + 4);
          rows.push({ layer, head, probability, kl });
        }
        done += rows.length;
        if (rows.length > 0) emit(EVENTS.effects, { rows, done, total });
        if (step.done) break;
        do {
          await yieldToEvents();
          this.#loaded('effects');
          throwIfAborted(signal);
        } while (this.#waitedFor > 0);
        if (entry.holders === 0) throw new LookbackError('disposed', 'effects: the pass was disposed');
      }
    } finally {
      if (!this.#moduleGone) effects.delete();
    }
    return { done, total };
  }

  // The end

  dispose() {
    this.#gone = true;
    for (const state of this.#generations.values()) this.#release(state.entry);
    this.#generations.clear();
    for (const entry of this.#passes.values()) this.#release(entry);
    this.#passes.clear();
    this.#engine?.delete();
    this.#engine = null;
    this.#endThreads();
  }

  /** After a trap nothing of the module may be called any more, not even to free it. */
  abandon() {
    this.#gone = true;
    this.#engine = null;
    this.#passes.clear();
    this.#generations.clear();
    this.#endThreads();
  }

  // Inside

  /** A worker's threads end with it; those of an engine in the caller's own thread would stay for ever. */
  #endThreads() {
    this.#module?.PThread?.terminateAllThreads();
    this.#module = null;
    this.#moduleGone = true;
  }

  /** @param {string} verb */
  #loaded(verb) {
    if (this.#gone) throw new LookbackError('disposed', `${verb}: the model was disposed`);
    if (!this.#engine) throw new LookbackError('wrong_state', `${verb}: no model is loaded`);
    return this.#info;
  }

  /**
   * @param {string} text
   * @param {boolean} special
   */
  #encode(text, special) {
    checkText(text);
    return this.#tokenizer.encode(text, { special }).map(ownBytes);
  }

  /** @param {{text?: string, ids?: number[]}} args */
  #prompt({ text, ids }) {
    const tokens =
      text === undefined
        ? this.#tokenizer.tokensOfIds(checkIds(ids, Math.min(this.#info.vocab, this.#tokenizer.size))).map(ownBytes)
        : this.#encode(text, true);
    if (tokens.length === 0) {
      throw new LookbackError(
        'empty_prompt',
        `the prompt holds no tokens, expected from 1 to ${this.#info.contextLength}`,
      );
    }
    return { tokens, ids: Int32Array.from(tokens, ({ id }) => id) };
  }

  /** @param {any} keep */
  #keep(keep) {
    if (keep !== 'rows' && keep !== 'none')
      throw new LookbackError('bad_argument', `keep is "${String(keep)}", expected rows or none`);
    return keep;
  }

  /** @param {any} off */
  #off(off = []) {
    return checkOff(off, this.#info);
  }

  /**
   * Runs ids, taking over what a living pass has computed already.
   * @param {Int32Array} ids
   * @param {{keep: string, off: Int32Array, signal: AbortSignal, prefix?: PassEntry}} options
   * @returns {Promise<PassEntry>} held once
   */
  async #run(ids, { keep, off, signal, prefix }) {
    if (ids.length > this.#info.contextLength) {
      throw new LookbackError(
        'context_full',
        `the prompt has ${ids.length} tokens, expected at most ${this.#info.contextLength}, the model's context`,
      );
    }
    const start = prefix
      ? { entry: prefix, how: 'prefix', length: prefix.ids.length }
      : bestStart({ ids, keep, off }, this.#entries(), this.#info.layers);
    const pass = unwrap(
      start?.how === 'switched'
        ? start.entry.pass.switched(start.length, off)
        : this.#engine.createPass({ keep, off, prefix: start?.entry.pass ?? null, prefixLength: start?.length ?? 0 }),
    );
    this.#waitedFor++;
    try {
      if (start?.how !== 'switched') unwrap(pass.begin(ids.subarray(start?.length ?? 0)));
      while (!unwrap(pass.step()).done) {
        await yieldToEvents();
        this.#loaded('forward');
        throwIfAborted(signal);
      }
      return { pass, holders: 1, ids, off, keep };
    } catch (error) {
      // Nothing may be called after a trap, and other runs would go on before the dispatcher hears of this one.
      if (error instanceof WebAssembly.RuntimeError) this.abandon();
      if (!this.#moduleGone) pass.delete();
      throw error;
    } finally {
      this.#waitedFor--;
    }
  }

  /** Every living pass, once. */
  #entries() {
    return new Set([...this.#passes.values(), ...[...this.#generations.values()].map(({ entry }) => entry)]);
  }

  /** @param {PassEntry} entry */
  #hold(entry) {
    const handle = this.#nextHandle++;
    this.#passes.set(handle, entry);
    return handle;
  }

  /** @param {PassEntry} entry */
  #release(entry) {
    if (--entry.holders === 0 && !this.#moduleGone) entry.pass.delete();
  }

  /**
   * @param {number} handle
   * @param {string} verb
   */
  #pass(handle, verb) {
    this.#loaded(verb);
    const entry = this.#passes.get(handle);
    if (!entry) throw new LookbackError('disposed', `${verb}: the pass was disposed`);
    return entry;
  }

  /** @param {{ids: Int32Array, logits: Float32Array, probabilities: Float32Array}} top */
  #topTokens({ ids, logits, probabilities }) {
    return Array.from(ids, (id, index) => ({
      id,
      text: id < this.#tokenizer.size ? this.#tokenizer.text(id) : '',
      logit: logits[index],
      probability: probabilities[index],
    }));
  }

  /**
   * The tokens of a generation from the first whose text could still change.
   * @param {Generation} state
   */
  #tail(state) {
    const { generated, prompt } = state;
    const from = this.#tokenizer.settled(generated.slice(0, -1));
    const before = from > 0 ? state.settledEnd : (prompt.at(-1)?.end ?? 0);
    const tail = this.#tokenizer.tokensOfIds(generated.slice(from), before).map(ownBytes);
    const settled = this.#tokenizer.settled(generated);
    if (settled === generated.length) state.settledEnd = tail.at(-1).end;
    return { settled: prompt.length + from, tail };
  }

  #endIds() {
    const ends = new Set(this.#tokenizer.eosId === null ? [] : [this.#tokenizer.eosId]);
    for (const token of END_TOKENS) {
      const tokens = this.#tokenizer.encode(token);
      if (tokens.length === 1 && tokens[0].special) ends.add(tokens[0].id);
    }
    return ends;
  }
}

/**
 * @typedef {object} Generation
 * @property {PassEntry} entry      ends with the last token
 * @property {(logits: Float32Array) => number} sample
 * @property {number} left          tokens that may still come
 * @property {import('./index.d.ts').Token[]} prompt
 * @property {number[]} generated
 * @property {{push: (id: number) => string, flush: () => string}} stream
 * @property {Set<number>} ends
 * @property {'stop' | 'length' | null} finish   known with the last token, told by the call after it
 * @property {number} [settledEnd]  UTF-16 end of the generated tokens whose text is final
 */

/**
 * Token arrays that leave are the caller's own.
 * @param {import('./index.d.ts').Token} token
 */
const ownBytes = (token) => ({ ...token, bytes: token.bytes.slice() });
