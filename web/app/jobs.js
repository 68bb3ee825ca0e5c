// Owns: work of the article panels that runs beside the shown text and can be cancelled: prices, copying, figures, writing on.
// One job of a kind at a time; a newer one ends the older. Results go to the store under the job's name.

import { measurePrice } from './measure_price.js';
import { measureCopying } from './measure_copying.js';
import { share } from '../view/format.js';

/**
 * @param {{state: any, set: (patch: any) => void}} store
 * @param {ReturnType<import('./session.js').createSession>} session
 * @param {{computeFigures: (model: any, options: any) => Promise<any[]>}} services
 */
export function createJobs(store, session, { computeFigures }) {
  /** @type {Map<string, AbortController>} */
  const running = new Map();

  /** @param {string} name @param {any} start @param {(signal: AbortSignal, tell: (patch: any) => void) => Promise<void>} work */
  async function job(name, start, work) {
    running.get(name)?.abort();
    const mine = new AbortController();
    running.set(name, mine);
    const tell = (patch) => {
      if (running.get(name) === mine) store.set({ [name]: { ...store.state[name], ...patch } });
    };
    store.set({ [name]: { status: 'running', message: '', ...start } });
    try {
      await work(mine.signal, tell);
      tell({ status: mine.signal.aborted ? 'cancelled' : 'done' });
    } catch (/** @type {any} */ error) {
      const cancelled = mine.signal.aborted || error?.code === 'cancelled' || error?.code === 'disposed';
      tell(cancelled ? { status: 'cancelled' } : { status: 'failed', message: error?.message ?? String(error) });
    } finally {
      if (running.get(name) === mine) running.delete(name);
    }
  }

  return {
    cancel(name) {
      running.get(name)?.abort();
    },

    price() {
      const { model } = session;
      if (!model) return;
      return job('price', { points: [] }, async (signal, tell) => {
        for await (const point of measurePrice(model, { signal }))
          tell({ points: [...store.state.price.points, point] });
      });
    },

    copying() {
      const { model } = session;
      const s = store.state;
      const passes = session.passesOf(s);
      if (!model || !s.clean || s.clean.stored || !passes) return;
      return job('copying', { rows: [], runId: s.clean.id }, async (signal, tell) => {
        const stats = await passes.clean.heads();
        for await (const row of measureCopying(model, s.clean.text, passes.clean, stats, { signal }))
          tell({ rows: [...store.state.copying.rows, row] });
      });
    },

    figures() {
      const { model } = session;
      if (!model) return;
      return job('figures', { rows: [], weights: model.info.weights }, async (signal, tell) => {
        tell({ rows: await computeFigures(model, { signal }) });
      });
    },

    /** Continues the shown text, or answers a message in the model's own chat form. @param {{maxTokens: number, temperature: number, topP: number, seed: number, message: string|null}} options */
    write({ maxTokens, temperature, topP, seed, message }) {
      const { model } = session;
      if (!model) return;
      return job('writing', { written: 0, ms: [], text: '', from: 0, finish: null }, async (signal, tell) => {
        let prompt = store.state.text;
        /** @type {string|number[]} */
        let start = prompt;
        if (message !== null) {
          start = await model.chat([{ role: 'user', content: message }]);
          prompt = await model.detokenize(start);
        }
        const tokensBefore = typeof start === 'string' ? (await model.tokenize(start)).length : start.length;
        tell({ from: tokensBefore });
        let text = prompt;
        let since = performance.now();
        const steps = model.generate(start, { maxTokens, temperature, topP, seed, signal });
        for (;;) {
          const { value, done } = await steps.next();
          if (done) {
            tell({ finish: value ?? null });
            return;
          }
          if (signal.aborted) {
            value.pass.dispose();
            return;
          }
          const now = performance.now();
          text += value.text;
          session.adopt(text, value.pass, now - since);
          const { written, ms } = store.state.writing;
          tell({ written: written + 1, ms: [...ms, now - since], text: text.slice(prompt.length) });
          since = now;
        }
      });
    },
  };
}

/** What a measured row says, in words that follow the numbers. @param {number} before @param {number} after */
export function verdict(before, after) {
  if (after > before * 1.05) return `up, to ${share(after)}`;
  if (after < before * 0.95) return `down, to ${share(after)}`;
  return `hardly moved: ${share(after)}`;
}
