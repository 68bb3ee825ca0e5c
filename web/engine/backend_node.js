// What the dispatcher's surroundings give in Node: the four builds of the engine, files by path, the network; nothing is stored.

import { createHash } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { LookbackError } from './errors.js';
import { probeFeatures } from './features.js';
import { createSharedMemory } from './memory.js';
import { noStore } from './storage.js';

/** @type {Record<string, () => Promise<any>>} */
const BUILDS = {
  simd128: () => import('./wasm/simd128/lookback.node.mjs'),
  relaxed: () => import('./wasm/relaxed/lookback.node.mjs'),
  'simd128-mt': () => import('./wasm/simd128-mt/lookback.node.mjs'),
  'relaxed-mt': () => import('./wasm/relaxed-mt/lookback.node.mjs'),
};

/** @returns {import('./session.js').Environment} */
export function createBackend() {
  return {
    // Node 20 has no navigator.
    probe: async () => ({ ...(await probeFeatures()), cores: availableParallelism() }),
    loadModule: async ({ name, threads }, weightBytes) =>
      (await BUILDS[name]()).default({ threads, ...createSharedMemory(threads, weightBytes) }),
    paths: { stat: statPath, chunks: readPath, list: readdir, join, dirname, resolve },
    openStorage: async () => noStore('Node keeps no downloads; scripts/fetch-weights puts them into models/'),
    createHash: async () => {
      const hash = createHash('sha256');
      return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
    },
  };
}

/** @param {string} path */
async function statPath(path) {
  try {
    const { size, isDirectory } = await stat(path).then((stats) => ({
      size: stats.size,
      isDirectory: stats.isDirectory(),
    }));
    return { bytes: size, isFolder: isDirectory };
  } catch (error) {
    if (/** @type {any} */ (error).code === 'ENOENT' || /** @type {any} */ (error).code === 'ENOTDIR') return null;
    throw new LookbackError('not_found', `${path}: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * @param {string} path
 * @param {number} chunkBytes
 * @returns {AsyncGenerator<Uint8Array, void, void>}
 */
async function* readPath(path, chunkBytes) {
  const file = await open(path).catch((error) => {
    throw new LookbackError('not_found', `${path}: ${error.message}`);
  });
  try {
    for (let at = 0; ;) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(chunkBytes), 0, chunkBytes, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
