/**
 * runInSlices: drives an experiment (a generator) between the page's other work, a few milliseconds at a time
 * @template T
 * @param {Generator<number, T, void>} experiment
 * @param {{signal: AbortSignal, sliceMs?: number}} options
 * @returns {Promise<T>} rejects with AbortError once `signal` says so
 */
export async function runInSlices(experiment, { signal, sliceMs = 8 }) {
  for (;;) {
    const until = performance.now() + sliceMs;
    do {
      signal.throwIfAborted();
      const step = experiment.next();
      if (step.done) return step.value;
    } while (performance.now() < until);
    await new Promise((resolve) => setTimeout(resolve));
  }
}
