// Owns: the loaded model and its passes. Alone talks to the engine; puts what comes of it into the store. Start at load and run.

import { fittingOff } from './selectors.js';
import { StoredPass } from './stored_run.js';
import { MOST_TOKENS } from './examples.js';
import { count } from '../view/format.js';

/** @typedef {import('./sources.js').Source} Source */
/** @typedef {{run: import('./selectors.js').Run, pass: any}} Kept */

let nextRun = 1;
const isAbort = (error) => error?.code === 'cancelled' || error?.name === 'AbortError';
const emptyData = {};

/**
 * @param {{state: any, set: (patch: any) => void}} store
 * @param {{loadModel: (source: any, options: any) => Promise<any>}} engine
 */
export function createSession(store, engine) {
  /** @type {any} */
  let model = null;
  /** @type {Map<number, any>} run id → pass */
  const passes = new Map();
  /** @type {AbortController|null} */
  let loading = null;
  /** @type {AbortController|null} */
  let running = null;
  let finished = 0;
  /** @type {(runId: number) => void} */
  let onGone = () => {};

  const shapeOf = (info) => ({ layers: info.layers, heads: info.heads, headDim: info.headDim, vocab: info.vocab });
  const weightsOf = (info) => ({
    name: String(info.weights.source ?? store.state.source?.name ?? '')
      .split('/')
      .pop(),
    sha256: info.weights.sha256,
    precision: info.precision,
  });

  function keep(text, pass, off, ms) {
    /** @type {import('./selectors.js').Run} */
    const run = {
      id: nextRun++,
      text,
      tokens: pass.tokens,
      off,
      stored: false,
      ms,
      shape: shapeOf(model.info),
      weights: weightsOf(model.info),
    };
    passes.set(run.id, pass);
    return run;
  }

  /** Frees every pass that no view can ask for any more. */
  function sweep() {
    const { run, clean } = store.state;
    for (const [id, pass] of passes) {
      if (id === run?.id || id === clean?.id) continue;
      passes.delete(id);
      onGone(id);
      pass.dispose();
    }
  }

  function countPass() {
    finished += 1;
    document.documentElement.dataset.pass = String(finished);
  }

  /** Shows a run. Numbers of the run before stay on screen until the new ones are there, so nothing jumps. */
  function show(run, clean) {
    store.set({
      run,
      clean,
      running: false,
      problem: null,
      effects: sameText(store.state.clean, clean) ? store.state.effects : null,
    });
    sweep();
  }
  const sameText = (a, b) => a && b && a.id === b.id;

  /**
   * Runs the store's text with the store's switches; a newer call makes an older one stop.
   * A run with nothing off is kept beside the switched one: it is what "before" means, and what undo returns to.
   */
  async function run() {
    running?.abort();
    if (!model) return;
    const mine = new AbortController();
    running = mine;
    const { text } = store.state;
    store.set({ running: true });
    try {
      let clean = store.state.clean;
      if (!clean || clean.stored || clean.text !== text || !passes.has(clean.id)) {
        const tokens = await model.tokenize(text);
        if (mine.signal.aborted) return;
        if (tokens.length === 0) {
          store.set({ run: null, clean: null, running: false, problem: null, data: emptyData });
          sweep();
          return;
        }
        const limit = Math.min(MOST_TOKENS, model.info.contextLength);
        if (tokens.length > limit) {
          throw new Error(
            `This text is ${count(tokens.length)} tokens long; the page shows up to ${count(limit)}. Shorten it and it runs again.`,
          );
        }
        const from = performance.now();
        const pass = await model.forward(text, { signal: mine.signal });
        if (mine.signal.aborted) {
          pass.dispose();
          return;
        }
        clean = keep(text, pass, [], performance.now() - from);
        countPass();
      }
      const off = fittingOff(store.state.off, clean.shape, clean.tokens.length);
      if (off.length === 0) return show(clean, clean);
      const from = performance.now();
      const pass = await model.forward(text, { off, signal: mine.signal });
      if (mine.signal.aborted) {
        pass.dispose();
        return;
      }
      const switched = keep(text, pass, off, performance.now() - from);
      countPass();
      show(switched, clean);
    } catch (/** @type {any} */ error) {
      if (isAbort(error) || mine.signal.aborted) return;
      store.set({ running: false, problem: error.message });
      if (error.code === 'fatal') failed(error);
    } finally {
      if (running === mine) running = null;
    }
  }

  function failed(error) {
    document.documentElement.dataset.state = 'error';
    store.set({ load: { status: 'error', code: error?.code ?? 'internal', message: error?.message ?? String(error) } });
  }

  /** @param {Source} source @param {{precision?: string}} [options] */
  async function load(source, { precision = store.state.precision } = {}) {
    loading?.abort();
    running?.abort();
    const mine = new AbortController();
    loading = mine;
    document.documentElement.dataset.state = 'loading';
    store.set({
      source,
      precision,
      load: { status: 'loading', phase: 'download', loaded: 0, total: null, rate: null },
    });
    await drop();
    let since = performance.now();
    let had = 0;
    let phase = '';
    let rate = /** @type {number|null} */ (null);
    try {
      const loaded = await engine.loadModel(source.source, {
        precision,
        signal: mine.signal,
        onProgress: (p) => {
          if (mine.signal.aborted) return;
          const now = performance.now();
          if (p.phase !== phase) {
            [phase, since, had, rate] = [p.phase, now, p.loaded, null];
          } else if (now - since > 500) {
            const recent = ((p.loaded - had) * 1000) / (now - since);
            rate = rate === null ? recent : rate * 0.6 + recent * 0.4;
            [since, had] = [now, p.loaded];
          }
          store.set({ load: { status: 'loading', phase: p.phase, loaded: p.loaded, total: p.total, rate } });
        },
      });
      if (mine.signal.aborted) {
        loaded.dispose();
        return;
      }
      model = loaded;
      store.set({ info: model.info });
      await run();
      if (mine.signal.aborted) return;
      store.set({ load: { status: 'ready' } });
      document.documentElement.dataset.state = 'ready';
    } catch (/** @type {any} */ error) {
      if (mine.signal.aborted) return;
      if (isAbort(error)) {
        store.set({ load: { status: 'none' } });
        document.documentElement.dataset.state = 'error';
      } else failed(error);
    } finally {
      if (loading === mine) loading = null;
    }
  }

  /** Lets go of the model and all that was made with it; stored runs stay readable. */
  async function drop() {
    const old = model;
    model = null;
    if (old) {
      passes.clear();
      store.set({ info: null, run: null, clean: null, data: emptyData, effects: null });
      await old.dispose();
    }
  }

  return {
    load,
    run,
    /** @param {(runId: number) => void} listener */
    onRunGone(listener) {
      onGone = listener;
    },
    cancelLoad() {
      if (!loading) return;
      loading.abort();
      loading = null;
      document.documentElement.dataset.state = 'error';
      store.set({ load: { status: 'none' } });
    },
    /** @param {any} s @returns {import('./resources.js').Passes|null} */
    passesOf(s) {
      const pass = passes.get(s.run?.id);
      return pass ? { pass, clean: passes.get(s.clean?.id) ?? pass } : null;
    },
    /** Shows a run that the build stored, as long as no weights are in. @param {any} json */
    showStored(json) {
      if (model) return;
      const pass = new StoredPass(json);
      const run = {
        id: nextRun++,
        text: json.text,
        tokens: json.tokens,
        off: [],
        stored: true,
        ms: NaN,
        shape: json.shape,
        weights: json.weights,
      };
      passes.set(run.id, pass);
      show(run, run);
    },
    /** The loaded model, for work of panels beside the shown text (prices, figures, continuations); null before it is in. */
    get model() {
      return model;
    },
    /** A pass that grew out of generation becomes the shown one. */
    adopt(text, pass, ms) {
      const made = keep(text, pass, [], ms);
      countPass();
      store.set({ text, off: [] });
      show(made, made);
    },
  };
}
