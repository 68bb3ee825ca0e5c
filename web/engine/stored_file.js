// A weights file as a stream of bytes that are verified and, from the network, kept for the next visit.
// Owns: reading through the store, hashing, healing. May touch: download, storage, hash, hub. Start reading at: WeightsFile.

import { concatBytes } from './bytes.js';
import { downloadSized, openDownload, SourceChanged } from './download.js';
import { LookbackError, throwIfAborted } from './errors.js';
import { beside, nameOf, whereIs } from './files.js';
import { sha256Of } from './hash.js';
import { hubRecord } from './hub.js';

/**
 * @typedef {import('./source.js').FileRef} FileRef
 * @typedef {import('./storage.js').StoredRecord} StoredRecord
 *
 * @typedef {object} WeightsFile
 * @property {string} name
 * @property {number | null} bytes    the whole size, where known for sure
 * @property {() => AsyncGenerator<Uint8Array, void, void>} chunks   ends only when every byte came and the hash is right
 * @property {() => Promise<{sha256: string | null, verified: 'option' | 'manifest' | 'hub' | 'recorded', commit: string | null,
 *   stored: 'opfs' | 'indexeddb' | 'none', storedReason: string | null}>} keep   the engine took it: it may stay in the store
 * @property {(refused: boolean) => Promise<void>} release   after anything else; refused: its content is of no use, now or later
 *
 * @typedef {object} Reading   what all ways of reading share
 * @property {string | undefined} sha256   expected
 * @property {import('./storage.js').Store} store
 * @property {import('./session.js').Environment} environment
 * @property {ReturnType<typeof import('./progress.js').createProgress>} progress
 * @property {AbortSignal} signal
 */

/** Stored and verified piece by piece, so that a broken piece is found before the engine sees it. */
export const CHUNK_BYTES = 2 * 1024 * 1024;
/** The record is written after so many pieces: what a closed tab may lose. */
const SAVE_EVERY = 4;
const HEAD_TIMEOUT_MS = 3000;
/** Shards under way at a time, besides the one that the engine reads: the next request goes out before the last answer ended. */
const SHARDS_AHEAD = 2;

/**
 * A file that is on this machine already.
 * @param {FileRef} ref
 * @param {number} bytes
 * @param {Reading} reading
 * @returns {Promise<WeightsFile>}
 */
export async function openLocal(ref, bytes, { sha256, environment, progress, signal }) {
  const hash = await environment.createHash();
  let got = null;
  return {
    name: nameOf(ref),
    bytes,
    async *chunks() {
      for await (const chunk of ref.kind === 'path'
        ? environment.paths.chunks(ref.path, CHUNK_BYTES)
        : blobChunks(/** @type {any} */ (ref).blob)) {
        throwIfAborted(signal);
        hash.update(chunk);
        progress.add('read-from-cache', chunk.length, bytes);
        yield chunk;
      }
      got = hash.hex();
      compareHash(got, sha256, whereIs(ref));
    },
    keep: async () => ({
      sha256: got,
      verified: sha256 ? 'option' : 'recorded',
      commit: null,
      stored: 'none',
      storedReason: 'the file is on this machine already',
    }),
    release: async () => {},
  };
}

/**
 * A file at an address.
 * @param {string} url
 * @param {Reading} reading
 * @returns {Promise<WeightsFile>}
 */
export async function openAddress(url, { sha256, store, environment, progress, signal }) {
  const network = { signal, fetch: environment.fetch, tuning: environment.tuning };
  const keeper = await createKeeper(store, url);
  const hub = hubRecord(url, { fetch: environment.fetch, signal }).catch(() => ({
    sha256: null,
    commit: null,
    bytes: null,
  }));
  let record = keeper.record ?? emptyRecord(url);
  const whole = record.complete && (!sha256 || record.sha256 === sha256) && (await stillCurrent(url, record, network));
  if (!whole && record.complete) record = emptyRecord(url);
  // A cut download goes on where it stopped, if the server still has that version.
  let download = null;
  try {
    if (!whole) download = await openDownload(url, { ...network, offset: sizeOf(record), validator: record.validator });
  } catch (error) {
    await keeper.close();
    throw error;
  }
  if (download && download.start === 0) record = emptyRecord(url);
  if (download) Object.assign(record, { validator: download.validator, bytes: download.bytes });

  /** @type {{sha256: string, verified: 'option' | 'hub' | 'recorded'}} */
  let outcome = null;

  async function* chunks() {
    let good = 0;
    const rooms = createRooms();
    const stored = readAhead(record.chunks.length, 1, (index) => hashed(keeper, index, rooms));
    for (; good < record.chunks.length; good++) {
      throwIfAborted(signal);
      const { bytes: chunk, sha256: got } = await stored(good);
      if (got !== record.chunks[good].sha256) break;
      progress.add('read-from-cache', chunk.length, whole ? record.bytes : sizeOf(record));
      yield chunk;
      rooms.giveBack(chunk);
    }
    if (whole && good === record.chunks.length) {
      outcome = { sha256: record.sha256, verified: sha256 ? 'option' : /** @type {any} */ (record).verified };
      return;
    }
    if (good < record.chunks.length) {
      // The store lost or changed something: from there on the network has the word.
      record = { ...record, chunks: record.chunks.slice(0, good), complete: false, sha256: null };
      download = await openDownload(url, { ...network, offset: sizeOf(record), validator: record.validator });
      if (download.start !== sizeOf(record)) download = skipping(download, sizeOf(record), record.validator);
    }
    await keeper.save(record);
    const hash = await environment.createHash();
    for (let index = 0; index < good; index++) hash.update(await keeper.read(index));
    const from = sizeOf(record);
    let count = from;
    for await (const chunk of download.chunks()) {
      hash.update(chunk);
      count += chunk.length;
      progress.add('download', chunk.length, download.expected === null ? null : download.expected - from);
      yield chunk;
      await keeper.add(chunk, record);
    }
    await keeper.flush(record);
    record.bytes = count;
    const known = await hub;
    const got = hash.hex();
    outcome = { sha256: got, verified: sha256 ? 'option' : known.sha256 ? 'hub' : 'recorded' };
    record.commit = known.commit;
    compareHash(got, sha256 ?? known.sha256 ?? undefined, url);
  }

  return {
    name: nameOf({ kind: 'url', url }),
    bytes: record.bytes,
    chunks,
    keep: async () => {
      Object.assign(record, { complete: true, sha256: outcome.sha256, verified: outcome.verified });
      if (!whole || keeper.changed) await keeper.save(record);
      await keeper.close();
      return { ...outcome, commit: record.commit, ...keeper.where() };
    },
    release: async (refused) => {
      if (refused || record.chunks.length === 0) await keeper.remove();
      else if (!record.complete) await keeper.save(record);
      await keeper.close();
    },
  };
}

/**
 * A file cut into shards. Each is verified before any of it is used.
 * @param {FileRef} ref   of the manifest
 * @param {import('./manifest.js').Manifest} manifest
 * @param {Reading} reading
 * @returns {Promise<WeightsFile>}
 */
export async function openShards(ref, manifest, { sha256, store, environment, progress, signal }) {
  compareHash(manifest.sha256, sha256, `${whereIs(ref)} (the manifest's own sha256)`);
  const stop = new AbortController(); // ends what was asked for ahead of a load that fails
  const network = {
    signal: AbortSignal.any([signal, stop.signal]),
    fetch: environment.fetch,
    tuning: environment.tuning,
  };
  const address = whereIs(ref);
  const keeper = ref.kind === 'url' ? await createKeeper(store, address) : await createKeeper(null, address);
  let record = keeper.record ?? emptyRecord(address);
  if (record.sha256 !== manifest.sha256) record = { ...emptyRecord(address), sha256: manifest.sha256 };
  Object.assign(record, { bytes: manifest.bytes, manifest });

  const rooms = createRooms();
  /** @param {number} index */
  const fetchShard = async (index) => {
    const shard = manifest.shards[index];
    const file = beside(ref, shard.url, environment.paths);
    if (!file)
      throw new LookbackError(
        'missing_file',
        `${address}: shard ${shard.url} has no address, since the manifest has none`,
      );
    /** @type {Uint8Array} */
    let bytes;
    if (file.kind === 'url') {
      bytes = await downloadSized(file.url, rooms.take(shard.bytes), {
        ...network,
        onChunk: (size) => progress.add('download', size, missing),
      });
    } else {
      const parts = [];
      for await (const chunk of environment.paths.chunks(/** @type {any} */ (file).path, CHUNK_BYTES))
        parts.push(chunk);
      bytes = concatBytes(parts);
      progress.add('read-from-cache', bytes.length, manifest.bytes);
    }
    if (bytes.length !== shard.bytes) {
      throw new LookbackError(
        'size_mismatch',
        `${whereIs(file)} has ${bytes.length} bytes, the manifest says ${shard.bytes}`,
      );
    }
    compareHash(await sha256Of(bytes), shard.sha256, whereIs(file));
    return bytes;
  };
  /** @type {StoredRecord | null} the record that the store holds */
  let written = null;
  let missing = manifest.shards.slice(record.chunks.length).reduce((sum, shard) => sum + shard.bytes, 0);

  async function* chunks() {
    let index = 0;
    const stored = readAhead(record.chunks.length, 1, (at) => hashed(keeper, at, rooms));
    for (; index < record.chunks.length; index++) {
      throwIfAborted(signal);
      const { bytes, sha256: got } = await stored(index);
      if (got !== manifest.shards[index]?.sha256) break;
      progress.add('read-from-cache', bytes.length, manifest.bytes);
      yield bytes;
      rooms.giveBack(bytes);
    }
    if (index < record.chunks.length) {
      record = { ...record, chunks: record.chunks.slice(0, index), complete: false };
      missing = manifest.shards.slice(index).reduce((sum, shard) => sum + shard.bytes, 0);
    }
    const fetched = readAhead(manifest.shards.length, SHARDS_AHEAD, fetchShard);
    try {
      for (; index < manifest.shards.length; index++) {
        throwIfAborted(signal);
        const bytes = await fetched(index);
        if (written !== record) await keeper.save(record);
        written = record;
        yield bytes;
        await keeper.addWhole(bytes, manifest.shards[index].sha256, record);
        rooms.giveBack(bytes);
      }
    } finally {
      stop.abort();
    }
  }

  return {
    name: manifest.name,
    bytes: manifest.bytes,
    chunks,
    keep: async () => {
      record.complete = true;
      if (keeper.changed) await keeper.save(record);
      await keeper.close();
      return { sha256: manifest.sha256, verified: sha256 ? 'option' : 'manifest', commit: null, ...keeper.where() };
    },
    release: async (refused) => {
      if (refused || record.chunks.length === 0) await keeper.remove();
      else if (keeper.changed) await keeper.save(record);
      await keeper.close();
    },
  };
}

/**
 * Items by number, in order from the first one asked for; the next ones are under way while one is worked on.
 * @template T
 * @param {number} count
 * @param {number} ahead
 * @param {(index: number) => Promise<T>} read
 * @returns {(index: number) => Promise<T>}
 */
function readAhead(count, ahead, read) {
  /** @type {Map<number, Promise<T>>} */
  const begun = new Map();
  return async (index) => {
    for (let next = index; next <= index + ahead && next < count; next++) {
      if (begun.has(next)) continue;
      const item = read(next);
      item.catch(() => {}); // said when it is its turn; nobody asks after the end
      begun.set(next, item);
    }
    const item = begun.get(index);
    begun.set(index, null); // what was handed out is held by its reader alone
    return item;
  };
}

/** Buffers used again and again: fresh ones would stay in memory until the collector runs, together as large as the model. */
function createRooms() {
  /** @type {ArrayBufferLike[]} */
  const free = [];
  return {
    /** @param {number} size */
    take: (size) => {
      const fits = free.findIndex((buffer) => buffer.byteLength >= size);
      return new Uint8Array(fits < 0 ? new ArrayBuffer(size) : free.splice(fits, 1)[0], 0, size);
    },
    /** @param {Uint8Array} bytes   used up by everybody */
    giveBack: (bytes) => {
      if (free.length < SHARDS_AHEAD + 1) free.push(bytes.buffer);
    },
  };
}

/**
 * @param {Awaited<ReturnType<typeof createKeeper>>} keeper
 * @param {number} index
 * @param {ReturnType<typeof createRooms>} rooms
 */
async function hashed(keeper, index, rooms) {
  const bytes = await keeper.read(index, rooms.take(keeper.record.chunks[index].bytes));
  return { bytes, sha256: await sha256Of(bytes) };
}

/**
 * The store's file as long as it works; whatever goes wrong with storing, reading on from the network goes on.
 * @param {import('./storage.js').Store | null} store
 * @param {string} address
 */
async function createKeeper(store, address) {
  /** @type {import('./storage.js').StoredFile | null} */
  let file = null;
  let reason = store ? store.reason : 'the file is on this machine already';
  /** @type {Uint8Array} */
  let pending = new Uint8Array(CHUNK_BYTES);
  let filled = 0;
  let unsaved = 0;
  const fail = async (/** @type {any} */ error) => {
    reason = `nothing was stored: ${error.message}`;
    const broken = file;
    file = null;
    await broken?.remove().catch(() => {});
  };
  /** @param {(file: import('./storage.js').StoredFile) => Promise<any>} task */
  const trying = async (task) => {
    if (!file) return undefined;
    try {
      return await task(file);
    } catch (error) {
      return fail(error);
    }
  };
  try {
    file = store ? await store.open(address) : null;
  } catch (error) {
    await fail(error);
  }
  const keeper = {
    record: file?.record ?? null,
    /** Whether the store holds something else than when it was opened. */
    changed: false,
    read: async (/** @type {number} */ index, /** @type {Uint8Array | undefined} */ room = undefined) =>
      (await trying((open) => open.read(index, room))) ?? new Uint8Array(0),
    save: async (/** @type {StoredRecord} */ record) => {
      keeper.changed = true;
      unsaved = 0;
      await trying((open) => open.save(record));
    },
    addWhole: async (
      /** @type {Uint8Array} */ bytes,
      /** @type {string} */ sha256,
      /** @type {StoredRecord} */ record,
    ) => {
      if (!file) return;
      await trying((open) => open.append(bytes, sha256));
      if (++unsaved >= SAVE_EVERY) await keeper.save(record);
    },
    add: async (/** @type {Uint8Array} */ bytes, /** @type {StoredRecord} */ record) => {
      for (let at = 0; file && at < bytes.length;) {
        const part = bytes.subarray(at, at + CHUNK_BYTES - filled);
        pending.set(part, filled);
        filled += part.length;
        at += part.length;
        if (filled === CHUNK_BYTES) await keeper.flush(record);
      }
    },
    flush: async (/** @type {StoredRecord} */ record) => {
      if (filled === 0) return;
      const bytes = pending.slice(0, filled);
      filled = 0;
      await keeper.addWhole(bytes, await sha256Of(bytes), record);
    },
    remove: async () => {
      await trying((open) => open.remove());
      file = null;
    },
    close: async () => {
      await trying((open) => open.close());
      pending = null;
    },
    where: () => ({ stored: file ? store.kind : /** @type {const} */ ('none'), storedReason: file ? null : reason }),
  };
  return keeper;
}

/**
 * A download from the start of which the first bytes are known already.
 * @param {import('./download.js').Download} download
 * @param {number} count
 * @param {string | null} validator   of the version that the known bytes are from
 * @returns {import('./download.js').Download}
 */
function skipping(download, count, validator) {
  if (download.validator !== validator) throw new SourceChanged(`${download.url} changed since it was stored`);
  return {
    ...download,
    async *chunks() {
      let skip = count;
      for await (const chunk of download.chunks()) {
        if (skip < chunk.length) yield chunk.subarray(skip);
        skip = Math.max(0, skip - chunk.length);
      }
    },
  };
}

/**
 * Whether the server still has the stored version. Without an answer (offline, or a server without HEAD) the stored one counts.
 * @param {string} url
 * @param {StoredRecord} record
 * @param {{signal?: AbortSignal, fetch?: typeof fetch}} network
 */
async function stillCurrent(url, record, { signal, fetch = globalThis.fetch }) {
  if (!record.validator) return true;
  try {
    const head = await fetch(url, {
      method: 'HEAD',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal: signal
        ? AbortSignal.any([signal, AbortSignal.timeout(HEAD_TIMEOUT_MS)])
        : AbortSignal.timeout(HEAD_TIMEOUT_MS),
    });
    if (!head.ok) return true;
    const tags = [head.headers.get('etag'), head.headers.get('last-modified')].filter((tag) => tag !== null);
    return tags.length === 0 || tags.includes(record.validator);
  } catch {
    throwIfAborted(signal);
    return true;
  }
}

/**
 * @param {string} got
 * @param {string | undefined} expected
 * @param {string} where
 */
function compareHash(got, expected, where) {
  if (expected !== undefined && got !== expected.toLowerCase()) {
    throw new LookbackError('hash_mismatch', `${where}: the SHA-256 is ${got}, expected ${expected.toLowerCase()}`);
  }
}

/** @param {Blob} blob */
async function* blobChunks(blob) {
  for (let at = 0; at < blob.size; at += CHUNK_BYTES)
    yield new Uint8Array(await blob.slice(at, at + CHUNK_BYTES).arrayBuffer());
}

/**
 * @param {string} address
 * @returns {StoredRecord}
 */
const emptyRecord = (address) => ({
  address,
  validator: null,
  bytes: null,
  sha256: null,
  commit: null,
  complete: false,
  chunks: [],
});

/** @param {StoredRecord} record */
const sizeOf = (record) => record.chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
