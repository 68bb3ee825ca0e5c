// Owns: everything a reader can do, as one list of verbs. Touches store and session. Views call these and nothing else.

import { EXAMPLES, MORE_EXAMPLES } from './examples.js';
import { query, sameOff, target } from './selectors.js';
import { fileSource, addressSource } from './sources.js';
import { STEPS } from './guide_steps.js';
import { standing } from '../view/ranking.js';

/** @typedef {ReturnType<typeof createActions>} Actions */

/**
 * @param {{state: any, set: (patch: any) => void}} store
 * @param {ReturnType<import('./session.js').createSession>} session
 * @param {ReturnType<import('./jobs.js').createJobs>} jobs
 * @param {{stored: (name: string) => Promise<void>, page: string}} services
 */
export function createActions(store, session, jobs, { stored, page }) {
  /** @type {AbortController|null} */
  let effects = null;
  const set = (patch) => store.set(patch);

  function changeOff(off) {
    const s = store.state;
    set({ off, offBefore: [...s.offBefore.slice(-49), s.off] });
    session.run();
  }

  return {
    /** The prompt was edited. */
    type(text) {
      if (text === store.state.text) return;
      set({ text, example: null, hover: null, open: null });
      session.run();
    },
    /** @param {string} name */
    example(name) {
      const chosen = [...EXAMPLES, ...MORE_EXAMPLES].find((e) => e.name === name);
      if (!chosen) return;
      const { text, layer, head, token = null } = /** @type {any} */ ({ ...store.state, token: null, ...chosen });
      set({ text, layer, head, token, example: name, hover: null, open: null, off: [], offBefore: [], target: null });
      if (session.model) session.run();
      else stored(name);
    },

    hoverToken(index) {
      set({ hover: index });
    },
    /** Tap: pins; the pinned one again: frees. */
    pinToken(index) {
      set({ token: store.state.token === index ? null : index, hover: null, open: null });
    },
    /** Pins without toggling, as links from a list do. */
    goToToken(index) {
      set({ token: index, hover: null, open: null });
    },
    freeToken() {
      set({ token: null, hover: null, open: null });
    },
    hoverHead(at) {
      set({ previewHead: at });
    },
    /** Tap: chooses; the chosen one again: frees, and then all heads are averaged. */
    pinHead(layer, head) {
      const s = store.state;
      const same = s.layer === layer && s.head === head;
      set({ layer, head: same ? null : head, lastHead: head, previewHead: null });
    },
    goToHead(layer, head) {
      set({ layer, head, lastHead: head, previewHead: null });
    },
    setLayer(layer) {
      set({ layer, previewHead: null });
    },
    setHead(head) {
      set({ head, lastHead: head, previewHead: null });
    },
    setAveraged(on) {
      set({ head: on ? null : store.state.lastHead, previewHead: null });
    },

    setShade(shade) {
      set({ shade });
    },
    setSort(sort) {
      set({ sort });
    },
    setAside(aside) {
      set({ aside });
    },
    setWords(words) {
      set({ words, open: null });
    },
    openRow(key) {
      set({ open: store.state.open === key ? null : key });
    },
    markPair(key) {
      set({ marked: key });
    },
    openPanel(name, on) {
      if (Boolean(store.state.panels[name]) !== on) set({ panels: { ...store.state.panels, [name]: on } });
    },

    /** Switches a head or a link off, or on again. */
    toggleOff(off) {
      const now = store.state.off;
      changeOff(now.some((o) => sameOff(o, off)) ? now.filter((o) => !sameOff(o, off)) : [...now, off]);
    },
    setOff(off) {
      changeOff(off);
    },
    undoOff() {
      const { offBefore } = store.state;
      if (offBefore.length === 0) return;
      set({ off: offBefore[offBefore.length - 1], offBefore: offBefore.slice(0, -1) });
      session.run();
    },
    follow(token) {
      set({ target: token });
    },

    /** Every head off in turn, for the followed token at the shown position. */
    async findEffects() {
      const s = store.state;
      const to = target(s);
      const passes = session.passesOf(s);
      if (!to || !passes || !s.clean || s.clean.stored) return;
      effects?.abort();
      const mine = new AbortController();
      effects = mine;
      const { layers, heads } = s.clean.shape;
      const position = query(s);
      const found = {
        runId: s.clean.id,
        position,
        id: to.id,
        text: to.text,
        total: layers * heads,
        done: 0,
        status: 'running',
        before: NaN,
        probability: new Float64Array(layers * heads).fill(NaN),
        kl: new Float64Array(layers * heads).fill(NaN),
      };
      let told = 0;
      const tell = (patch = {}) => {
        Object.assign(found, patch);
        told = performance.now();
        set({ effects: { ...found } });
      };
      set({ shade: 'effect' });
      tell();
      try {
        found.before = standing(await passes.clean.logits(position), to.id).probability;
        for await (const { layer, head, probability, kl } of passes.clean.effects(to.id, position, {
          signal: mine.signal,
        })) {
          if (mine.signal.aborted) return;
          found.probability[layer * heads + head] = probability;
          found.kl[layer * heads + head] = kl;
          found.done += 1;
          if (performance.now() - told > 120) tell();
        }
        if (!mine.signal.aborted) tell({ status: 'done' });
      } catch (/** @type {any} */ error) {
        if (effects !== mine) return;
        const cancelled = error?.code === 'cancelled' || mine.signal.aborted;
        tell({ status: cancelled ? 'cancelled' : 'failed', message: cancelled ? '' : error.message });
      } finally {
        if (effects === mine) effects = null;
      }
    },
    cancelEffects() {
      effects?.abort();
      effects = null;
      const now = store.state.effects;
      if (now?.status === 'running') set({ effects: { ...now, status: 'cancelled' } });
    },

    setTheme(choice) {
      set({ themeChoice: choice });
    },
    load(source, options) {
      set({ linkAsks: null });
      return session.load(source, options);
    },
    loadAddress(address) {
      return this.load(addressSource(address, page));
    },
    /** @returns {boolean} false when no weights are among the files */
    loadFiles(files) {
      const source = fileSource(files);
      if (!source) return false;
      this.load(source);
      return true;
    },
    retryLoad() {
      if (store.state.source) session.load(store.state.source);
    },
    cancelLoad() {
      session.cancelLoad();
    },
    dismiss(name) {
      set({ [name]: null });
    },
    say(sentence) {
      set({ said: sentence });
    },
    /** A step of the guided example; null closes it and leaves the view as it is. @param {number|null} step */
    guide(step) {
      if (step !== null && (step < 0 || step >= STEPS.length)) return;
      const s = store.state;
      // Which heads copy is read while nothing is off, and holds for the steps after.
      if (step !== null && s.off.length === 0) set({ guideHeads: STEPS[3].off(s), guidePrevious: STEPS[4].off(s) });
      set({ guide: step });
      if (step !== null) STEPS[step].set(this, store.state);
    },
    /** Work of the article panels. */
    jobs,
    /** Reads what files of the reader's choice hold: for saving, too, a pass is read through here. */
    passes: () => session.passesOf(store.state),
  };
}
