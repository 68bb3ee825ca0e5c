// A store in memory with the shape of web/engine/storage.js, whose bytes a test can spoil.

/** @param {{failAfter?: number}} [options]   bytes after which writing is refused */
export function createMemoryStore({ failAfter = Infinity } = {}) {
  /** @type {Map<string, {record: any, chunks: Uint8Array[]}>} */
  const files = new Map();
  let written = 0;
  const store = {
    kind: /** @type {const} */ ('opfs'),
    reason: null,
    files,
    open: async (address) => {
      if (!files.has(address)) files.set(address, { record: null, chunks: [] });
      const state = files.get(address);
      const file = {
        // A record is written as text and read back, as the real ones are.
        record: state.record && JSON.parse(state.record),
        read: async (index) => state.chunks[index].slice(),
        append: async (bytes, sha256) => {
          written += bytes.length;
          if (written > failAfter) throw new Error('the quota is used up');
          state.chunks[file.record.chunks.length] = bytes.slice();
          file.record.chunks.push({ bytes: bytes.length, sha256 });
        },
        save: async (record) => {
          file.record = record;
          state.record = JSON.stringify(record);
          state.chunks.length = Math.min(state.chunks.length, record.chunks.length);
        },
        remove: async () => void files.delete(address),
        close: async () => {},
      };
      return file;
    },
    list: async () => [...files.values()].map(({ record }) => record && JSON.parse(record)).filter(Boolean),
    remove: async (address) => files.delete(address),
  };
  return store;
}
