// What this browser or Node can run. Owns: the probes. Start reading at: probeFeatures.

import { relaxedSimd, simd, threads } from 'wasm-feature-detect';

/**
 * @typedef {object} Features
 * @property {boolean} simd128
 * @property {boolean} relaxed
 * @property {boolean} sharedMemory   shared WebAssembly memory can be made and posted
 * @property {boolean} isolated       the page is cross-origin isolated (always so in Node)
 * @property {number} cores
 */

/** @returns {Promise<Features>} */
export async function probeFeatures() {
  const [simd128, relaxed, sharedMemory] = await Promise.all([simd(), relaxedSimd(), threads()]);
  return {
    simd128,
    relaxed,
    sharedMemory,
    // Undefined outside browsers, where nothing has to be isolated.
    isolated: globalThis.crossOriginIsolated ?? true,
    cores: globalThis.navigator?.hardwareConcurrency ?? 1,
  };
}
