// Progress as callers see it: about ten times a second, never falling, always with a last call.

const EVERY_MS = 100;

/**
 * @param {(progress: import('./index.d.ts').LoadProgress) => void} report
 * @param {() => number} [now]
 */
export function createProgress(report, now = () => performance.now()) {
  /** @type {Map<string, {loaded: number, total: number | null, at: number}>} */
  const phases = new Map();
  let files = 1;
  return {
    /**
     * @param {import('./index.d.ts').LoadPhase} phase
     * @param {number} more
     * @param {number | null} total   as far as known; dropped once more than that has come
     */
    add(phase, more, total) {
      const state = phases.get(phase) ?? { loaded: 0, total: null, at: -Infinity };
      phases.set(phase, state);
      state.loaded += more;
      state.total = files === 1 && total !== null && total >= state.loaded ? total : null;
      if (now() - state.at < EVERY_MS) return;
      state.at = now();
      report({ phase, loaded: state.loaded, total: state.total });
    },
    /**
     * The last call of a phase, at 1; a phase that never began has none.
     * @param {import('./index.d.ts').LoadPhase} phase
     */
    finish(phase) {
      const state = phases.get(phase);
      if (state) report({ phase, loaded: state.loaded, total: state.loaded });
    },
    /** One more file follows: what is left in all is not known. */
    nextFile() {
      files++;
    },
    /** A load that starts anew counts anew. */
    reset() {
      phases.clear();
      files = 1;
    },
  };
}
