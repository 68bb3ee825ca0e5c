// Which build of the engine to load: a pure choice, tested in Node. Owns: names of builds, default threads. Start reading at: chooseVariant.

import { LookbackError } from './errors.js';

/** More threads than this have not been measured to help a model of this size. */
const MOST_DEFAULT_THREADS = 4;

/**
 * @param {import('./features.js').Features} features
 * @param {{variant?: string, threads?: number}} wishes
 * @returns {{name: string, variant: string, threads: number, threadsReason: string}} name: the build's folder under wasm/
 */
export function chooseVariant(features, { variant = 'auto', threads } = {}) {
  if (!features.simd128) {
    throw new LookbackError(
      'unsupported_browser',
      'this browser runs no WebAssembly SIMD, which the engine needs: Chrome 91, Firefox 89, Safari 16.4 and later have it',
    );
  }
  if (!['auto', 'simd128', 'relaxed'].includes(variant)) {
    throw new LookbackError('bad_argument', `variant is "${variant}", expected auto, simd128 or relaxed`);
  }
  if (variant === 'relaxed' && !features.relaxed) {
    throw new LookbackError(
      'unsupported_browser',
      'variant relaxed needs relaxed WebAssembly SIMD, which is not enabled here (Node 20 needs --experimental-wasm-relaxed-simd)',
    );
  }
  const chosen = variant === 'auto' ? (features.relaxed ? 'relaxed' : 'simd128') : variant;
  const count = chooseThreads(features, threads);
  return { name: count.threads > 1 ? `${chosen}-mt` : chosen, variant: chosen, ...count };
}

/**
 * @param {import('./features.js').Features} features
 * @param {number | undefined} wanted
 */
function chooseThreads({ sharedMemory, isolated, cores }, wanted) {
  if (wanted !== undefined && !(Number.isInteger(wanted) && wanted >= 1 && wanted <= 64)) {
    throw new LookbackError('bad_argument', `threads is ${wanted}, expected a whole number from 1 to 64`);
  }
  if (wanted === 1) return { threads: 1, threadsReason: 'one thread was asked for' };
  if (!isolated) {
    return {
      threads: 1,
      threadsReason:
        'one thread: the page is not cross-origin isolated (the server sends no COOP and COEP headers), so memory cannot be shared',
    };
  }
  if (!sharedMemory)
    return { threads: 1, threadsReason: 'one thread: this browser shares no WebAssembly memory between workers' };
  if (wanted !== undefined) return { threads: wanted, threadsReason: `${wanted} threads were asked for` };
  const threads = Math.max(1, Math.min(MOST_DEFAULT_THREADS, Math.floor(cores / 2)));
  return { threads, threadsReason: `half of ${cores} cores, from 1 to ${MOST_DEFAULT_THREADS}` };
}
