// Owns: the one state object of the page. May touch: nothing. Views read `state` and call actions; they never write it.

/**
 * @template {object} S
 * @param {S} initial
 */
export function createStore(initial) {
  let state = initial;
  let told = initial;
  let planned = false;
  /** @type {Set<(state: S, before: S) => void>} */
  const listeners = new Set();

  // All changes of one task are told together, before the next frame is painted.
  function tell() {
    planned = false;
    const before = told;
    told = state;
    for (const listener of listeners) listener(state, before);
  }

  return {
    get state() {
      return state;
    },
    /** @param {Partial<S>} patch fields that keep their value cost nothing */
    set(patch) {
      const changed = Object.keys(patch).some((key) => !Object.is(patch[key], state[key]));
      if (!changed) return;
      state = Object.assign({}, state, patch);
      if (!planned) {
        planned = true;
        queueMicrotask(tell);
      }
    },
    /** @param {(state: S, before: S) => void} listener @returns {() => void} */
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Did any of these fields change? @param {string[]} fields */
export function changed(state, before, fields) {
  return fields.some((f) => !Object.is(state[f], before[f]));
}
