// Shared memory for the threaded builds. Its maximum is reserved up front by some systems (phones above all), so it is asked for by need,
// and again with less when refused.

const PAGE_BYTES = 65536;
const MIB = 1024 * 1024;
/** What the module declares (scripts/cmake/wasm.cmake): an imported memory has to lie within. */
export const SHARED_INITIAL_BYTES = 64 * MIB;
export const SHARED_MOST_BYTES = 2048 * MIB;
/** Besides the weights: code, stacks, activations, keys and values of a few thousand positions. */
const ROOM_BYTES = 768 * MIB;

/**
 * Options for the module: a memory for more than one thread, nothing for one.
 * @param {number} threads
 * @param {number | null} weightBytes
 * @param {(descriptor: object) => WebAssembly.Memory} [create]
 */
export function createSharedMemory(
  threads,
  weightBytes,
  create = (descriptor) => new WebAssembly.Memory(/** @type {any} */ (descriptor)),
) {
  if (threads <= 1) return {};
  const wanted = Math.min(SHARED_MOST_BYTES, (weightBytes ?? SHARED_MOST_BYTES) * 1.25 + ROOM_BYTES);
  const least = Math.min(SHARED_MOST_BYTES, (weightBytes ?? 0) + 128 * MIB);
  /** @type {unknown} */
  let refusal;
  for (let maximum = wanted; maximum >= least; maximum *= 0.75) {
    try {
      const memory = create({
        initial: SHARED_INITIAL_BYTES / PAGE_BYTES,
        maximum: Math.ceil(maximum / PAGE_BYTES),
        shared: true,
      });
      return { wasmMemory: memory };
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}
