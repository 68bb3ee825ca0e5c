// SHA-256: of whole files while they stream (hash-wasm), of single chunks by the browser's own code where it offers it.

import { hexOf } from './bytes.js';

/** @returns {Promise<{update: (bytes: Uint8Array) => void, hex: () => string}>} */
export async function createStreamingHash() {
  const { createSHA256 } = await import('hash-wasm');
  const hash = await createSHA256();
  hash.init();
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}

/**
 * @param {Uint8Array} bytes
 * @returns {Promise<string>}
 */
export async function sha256Of(bytes) {
  // Plain http pages have no crypto.subtle.
  if (globalThis.crypto?.subtle)
    return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', /** @type {any} */ (bytes))));
  return (await import('hash-wasm')).sha256(bytes);
}
