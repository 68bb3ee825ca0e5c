// Where downloaded weights are kept between visits: OPFS, else IndexedDB, else nowhere. Memory is the engine itself.
// Owns: files of chunks with a record of their hashes. May touch: errors. Start reading at: openStore.

/**
 * What is known of a stored file. Only chunks named here count, whatever else a broken write left behind.
 * @typedef {object} StoredRecord
 * @property {string} address
 * @property {string | null} validator   ETag or Last-Modified of what was read
 * @property {number | null} bytes       of the whole file
 * @property {string | null} sha256      of the whole file, once complete
 * @property {string | null} commit
 * @property {boolean} complete
 * @property {{bytes: number, sha256: string}[]} chunks
 *
 * @typedef {object} StoredFile
 * @property {StoredRecord | null} record
 * @property {(index: number, room?: Uint8Array) => Promise<Uint8Array>} read   the chunk as stored, unverified, in `room` if that serves; short
 *   where the file is
 * @property {(bytes: Uint8Array, sha256: string) => Promise<void>} append   after the last chunk of the record
 * @property {(record: StoredRecord) => Promise<void>} save
 * @property {() => Promise<void>} remove
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Store
 * @property {'opfs' | 'indexeddb' | 'none'} kind
 * @property {string | null} reason    why nothing, or not the first choice
 * @property {(address: string) => Promise<StoredFile | null>} open
 * @property {() => Promise<StoredRecord[]>} list
 * @property {(address: string) => Promise<boolean>} remove
 */

import { hexOf } from './bytes.js';

const FOLDER = 'lookback';
const DATABASE = 'lookback';

/** @returns {Promise<Store>} */
export async function openStore() {
  const reasons = [];
  for (const open of [openOpfs, openIndexedDb]) {
    try {
      return await open();
    } catch (error) {
      reasons.push(/** @type {Error} */ (error).message);
    }
  }
  return noStore(`this browser keeps nothing here: ${reasons.join('; ')}`);
}

/**
 * @param {string} reason
 * @returns {Store}
 */
export const noStore = (reason) => ({
  kind: 'none',
  reason,
  open: async () => null,
  list: async () => [],
  remove: async () => false,
});

/** The weights this origin keeps, wherever they are. */
export async function storedWeights() {
  const files = (await allStores(async (store) => store.list())).flat();
  /** @type {StorageEstimate} */
  const { usage = null, quota = null } = (await globalThis.navigator?.storage?.estimate?.().catch(() => ({}))) ?? {};
  return {
    files: files.map(({ address, sha256, complete, chunks }) => ({
      address,
      bytes: chunks.reduce((sum, chunk) => sum + chunk.bytes, 0),
      sha256,
      complete,
    })),
    usage,
    quota,
  };
}

/** @param {string} [address] */
export async function deleteStoredWeights(address) {
  const counts = await allStores(async (store) => {
    let count = 0;
    for (const record of await store.list()) {
      if ((address === undefined || record.address === address) && (await store.remove(record.address))) count++;
    }
    return count;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * @template T
 * @param {(store: Store) => Promise<T>} task
 */
async function allStores(task) {
  const results = [];
  for (const open of [() => openOpfs({ reading: true }), openIndexedDb]) {
    try {
      results.push(await task(await open()));
    } catch {
      // A kind of storage that is not there holds nothing.
    }
  }
  return results;
}

// OPFS: NAME.weights holds the bytes, NAME.json the record. Writing needs a worker's synchronous handles, which every browser with OPFS has.

/**
 * @param {{reading?: boolean}} [options]
 * @returns {Promise<Store>}
 */
async function openOpfs({ reading = false } = {}) {
  if (!globalThis.navigator?.storage?.getDirectory) throw new Error('no origin-private file system');
  if (!reading && !('createSyncAccessHandle' in (globalThis.FileSystemFileHandle?.prototype ?? {}))) {
    throw new Error('no synchronous access to the origin-private file system');
  }
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle(FOLDER, { create: true });

  const readRecord = async (/** @type {string} */ name) => {
    try {
      const file = await (await folder.getFileHandle(`${name}.json`)).getFile();
      return checkedRecord(JSON.parse(await file.text()));
    } catch {
      return null; // no record, or one that a broken write left
    }
  };
  const removeFiles = async (/** @type {string} */ name) => {
    for (const ending of ['json', 'weights']) {
      await folder.removeEntry(`${name}.${ending}`).catch((error) => {
        if (error.name !== 'NotFoundError') throw error;
      });
    }
  };

  return {
    kind: 'opfs',
    reason: null,
    open: async (address) => {
      const name = await fileName(address);
      const record = await readRecord(name);
      const handle = await folder.getFileHandle(`${name}.weights`, { create: true });
      const data = await /** @type {any} */ (handle).createSyncAccessHandle();
      /** @type {StoredFile} */
      const file = {
        record: record?.address === address ? record : null,
        read: async (index, room) => {
          const bytes = room ?? new Uint8Array(file.record.chunks[index].bytes);
          const count = data.read(bytes, { at: offsetOf(file.record, index) });
          return bytes.subarray(0, count);
        },
        append: async (bytes, sha256) => {
          const count = data.write(bytes, { at: offsetOf(file.record, file.record.chunks.length) });
          if (count !== bytes.length) throw new Error('the storage is full');
          file.record.chunks.push({ bytes: bytes.length, sha256 });
        },
        save: async (next) => {
          file.record = next;
          data.truncate(offsetOf(next, next.chunks.length));
          data.flush();
          const sideHandle = /** @type {any} */ (await folder.getFileHandle(`${name}.json`, { create: true }));
          const side = await sideHandle.createSyncAccessHandle();
          try {
            const text = new TextEncoder().encode(JSON.stringify(next));
            side.truncate(0);
            side.write(text, { at: 0 });
            side.flush();
          } finally {
            side.close();
          }
        },
        remove: async () => {
          data.close();
          await removeFiles(name);
        },
        close: async () => data.close(),
      };
      return file;
    },
    list: async () => {
      const records = [];
      for await (const name of /** @type {any} */ (folder).keys()) {
        const record = name.endsWith('.json') ? await readRecord(name.slice(0, -'.json'.length)) : null;
        if (record) records.push(record);
      }
      return records;
    },
    remove: async (address) => {
      await removeFiles(await fileName(address));
      return true;
    },
  };
}

// IndexedDB: one row per chunk.

/** @returns {Promise<Store>} */
async function openIndexedDb() {
  if (!globalThis.indexedDB) throw new Error('no IndexedDB');
  const { openDB } = await import('idb');
  const database = await openDB(DATABASE, 1, {
    upgrade: (fresh) => {
      fresh.createObjectStore('records', { keyPath: 'address' });
      fresh.createObjectStore('chunks');
    },
  });
  const removeRows = async (/** @type {string} */ address) => {
    const transaction = database.transaction(['records', 'chunks'], 'readwrite');
    transaction.objectStore('records').delete(address);
    transaction.objectStore('chunks').delete(IDBKeyRange.bound([address, 0], [address, Infinity]));
    await transaction.done;
  };
  return {
    kind: 'indexeddb',
    reason: null,
    open: async (address) => {
      const record = await database.get('records', address);
      /** @type {StoredFile} */
      const file = {
        record: record ? checkedRecord(record) : null,
        read: async (index) => (await database.get('chunks', [address, index])) ?? new Uint8Array(0),
        append: async (bytes, sha256) => {
          await database.put('chunks', bytes, [address, file.record.chunks.length]);
          file.record.chunks.push({ bytes: bytes.length, sha256 });
        },
        save: async (next) => {
          file.record = next;
          await database.put('records', next);
        },
        remove: () => removeRows(address),
        close: async () => database.close(),
      };
      return file;
    },
    list: async () => (await database.getAll('records')).map(checkedRecord).filter((record) => record !== null),
    remove: async (address) => {
      await removeRows(address);
      return true;
    },
  };
}

/**
 * @param {StoredRecord} record
 * @param {number} index
 */
const offsetOf = (record, index) => record.chunks.slice(0, index).reduce((sum, chunk) => sum + chunk.bytes, 0);

/**
 * A record that can be relied on in shape, or null.
 * @param {any} record
 * @returns {StoredRecord | null}
 */
function checkedRecord(record) {
  const fine =
    typeof record?.address === 'string' &&
    Array.isArray(record.chunks) &&
    record.chunks.every(
      (/** @type {any} */ chunk) =>
        Number.isSafeInteger(chunk?.bytes) && chunk.bytes > 0 && typeof chunk.sha256 === 'string',
    );
  return fine ? record : null;
}

/** @param {string} address */
async function fileName(address) {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(address));
  return hexOf(new Uint8Array(digest)).slice(0, 32);
}
