// What the dispatcher's surroundings give in a browser: the four builds of the engine, storage, the network.

import { probeFeatures } from './features.js';
import { createStreamingHash } from './hash.js';
import { createSharedMemory } from './memory.js';
import { openStore } from './storage.js';

/** Written out, so that bundlers see each one. @type {Record<string, () => Promise<any>>} */
const BUILDS = {
  simd128: () => import('./wasm/simd128/lookback.mjs'),
  relaxed: () => import('./wasm/relaxed/lookback.mjs'),
  'simd128-mt': () => import('./wasm/simd128-mt/lookback.mjs'),
  'relaxed-mt': () => import('./wasm/relaxed-mt/lookback.mjs'),
};

/** @returns {import('./session.js').Environment} */
export function createBackend() {
  return {
    probe: probeFeatures,
    loadModule: async ({ name, threads }, weightBytes) =>
      (await BUILDS[name]()).default({ threads, ...createSharedMemory(threads, weightBytes) }),
    paths: null,
    openStorage: openStore,
    createHash: createStreamingHash,
  };
}
