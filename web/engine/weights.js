// From a source to an engine that is ready: which files it takes, in which order, and their bytes into the engine.
// Owns: the plan of a load. May touch: stored_file, files, manifest, tokenizer_data. Start reading at: loadWeights.

import { concatBytes } from './bytes.js';
import { SourceChanged } from './download.js';
import { LookbackError, throwIfAborted } from './errors.js';
import { beside, nameOf, textOf, whereIs } from './files.js';
import { parseManifest } from './manifest.js';
import { createProgress } from './progress.js';
import { refuseOtherContent, sniff, SNIFF_BYTES } from './sniff.js';
import { noStore } from './storage.js';
import { openAddress, openLocal, openShards } from './stored_file.js';
import { Tokenizer } from './tokenizer.js';
import { fromGguf, fromTokenizerJson } from './tokenizer_data.js';
import { unwrap } from './unwrap.js';

/**
 * @typedef {import('./source.js').Source} Source
 * @typedef {import('./source.js').FileRef} FileRef
 * @typedef {{ref: FileRef, manifest: import('./manifest.js').Manifest | null}} PlannedFile
 */

/** The engine copies this much at a time; a load that is given up ends between two copies. */
const FEED_BYTES = 1 << 20;
/** A source that keeps changing while it is read is given up. */
const MOST_RESTARTS = 2;
/** In a checkpoint folder, the first of these that is there. */
const FOLDER_FILES = ['model.safetensors', 'model.safetensors.index.json', 'model.onnx', 'onnx/model.onnx'];

/**
 * @param {{source: Source, options: import('./index.d.ts').LoadOptions, environment: import('./session.js').Environment,
 *   createEngine: (weightBytes: number | null) => Promise<any>, signal: AbortSignal,
 *   onProgress: (progress: import('./index.d.ts').LoadProgress) => void}} request
 */
export async function loadWeights({ source, options, environment, createEngine, signal, onProgress }) {
  const progress = createProgress(onProgress);
  const store =
    options.cache === false ? noStore('storing was switched off by `cache: false`') : await environment.openStorage();
  return underLock(
    whereIs(source.weights),
    source.weights.kind === 'url' && store.kind !== 'none',
    signal,
    async () => {
      for (let restarts = 0; ; restarts++) {
        try {
          return await loadOnce({ source, sha256: options.sha256, store, environment, createEngine, signal, progress });
        } catch (error) {
          if (!(error instanceof SourceChanged)) throw error;
          if (restarts === MOST_RESTARTS)
            throw new LookbackError('network_error', `${error.message}, ${restarts + 1} times in a row`);
          progress.reset();
        }
      }
    },
  );
}

/** @param {any} request */
async function loadOnce({ source, sha256, store, environment, createEngine, signal, progress }) {
  const network = { ...environment, signal };
  const { home, files } = await planOf(source.weights, network, store);
  /** @type {import('./stored_file.js').WeightsFile[]} */
  const opened = [];
  /** @type {any} */
  let engine = null;
  /** @type {import('./tokenizer.js').Tokenizer | null} */
  let tokenizer = null;
  try {
    const feed = async (
      /** @type {PlannedFile} */ planned,
      /** @type {string | undefined} */ expected,
      /** @type {string | undefined} */ name,
    ) => {
      if (opened.length > 0) progress.nextFile();
      const file = await open(planned, { sha256: expected, store, environment, progress, signal });
      opened.push(file);
      engine ??= await createEngine(file.bytes);
      const where = whereIs(planned.ref);
      return feedEngine(engine, file, { name, where, signal, beforeOthers: needConfig, onHeader: needTokenizer });
    };
    /** @type {{config: string, tokenizer: string, tokenizerConfig: string | null} | null} */
    let side = null;
    // Before the weights of a format that needs them, so that nobody waits for a download that cannot be used.
    const needConfig = async () => {
      side ??= await sideFiles(source, home, network);
    };
    // As soon as it can be: the rest of the file is still to come or being hashed.
    const needTokenizer = async () => {
      tokenizer ??= new Tokenizer(
        side
          ? fromTokenizerJson(side.tokenizer, { config: side.config, tokenizerConfig: side.tokenizerConfig })
          : await ggufTokenizer(engine, source, network),
      );
    };
    const external = [];
    for (const planned of files)
      external.push(...(await feed(planned, files.length === 1 ? sha256 : undefined, undefined)));
    for (const name of external)
      await feed({ ref: externalRef(source, home, name, environment), manifest: null }, undefined, name);
    progress.finish('download');
    progress.finish('read-from-cache');
    const { format } = unwrap(engine.directory());
    const bytes = opened.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
    progress.add('verify', bytes, bytes);
    progress.finish('verify');
    throwIfAborted(signal);

    progress.add('prepare', 0, 1);
    await needTokenizer();
    if (side) unwrap(engine.setConfig(side.config));
    const info = unwrap(engine.open());
    if (tokenizer.size > info.vocab) {
      throw new LookbackError('bad_tokenizer', `the tokenizer has ${tokenizer.size} tokens, the weights ${info.vocab}`);
    }
    progress.add('prepare', 1, 1);
    progress.finish('prepare');
    throwIfAborted(signal);
    const kept = [];
    for (const file of opened) kept.push(await file.keep());
    const weights = {
      format,
      sha256: files.length === 1 ? kept[0].sha256 : null,
      bytes: opened.reduce((sum, file) => sum + file.bytes, 0),
      source: source.weights.kind === 'blob' ? source.weights.name : whereIs(source.weights),
      verified: kept[0].verified,
      commit: kept[0].commit,
      stored: kept[0].stored,
      storedReason: kept[0].storedReason,
    };
    return { engine, info, tokenizer, weights };
  } catch (error) {
    // Content that the engine refuses, or that has the wrong hash, is not kept for another try; a cut download is.
    const refused =
      error instanceof LookbackError &&
      !['cancelled', 'network_error', 'http_error', 'out_of_memory'].includes(error.code);
    for (const file of opened) await file.release(refused).catch(() => {});
    if (!(error instanceof WebAssembly.RuntimeError)) engine?.delete();
    throw error;
  }
}

/**
 * What a weights file says about itself.
 * @param {{source: Source, environment: import('./session.js').Environment, createEngine: () => Promise<any>, signal: AbortSignal}} request
 */
export async function inspectWeights({ source, environment, createEngine, signal }) {
  const network = { ...environment, signal };
  const { home, files } = await planOf(source.weights, network, noStore(''));
  const engine = await createEngine();
  try {
    let all = true;
    let sha256 = null;
    for (const planned of files) {
      const file = await open(planned, {
        sha256: undefined,
        store: noStore(''),
        environment,
        progress: createProgress(() => {}),
        signal,
      });
      all =
        (await feedEngine(engine, file, { where: whereIs(planned.ref), signal, inspectOnly: true })) !== null && all;
      sha256 = all ? (await file.keep()).sha256 : null;
    }
    const config = await textOf(source.config ?? beside(home, 'config.json', environment.paths) ?? NOWHERE, network);
    let directory = unwrap(engine.directory());
    if (directory.format !== 'gguf' && config !== null) {
      unwrap(engine.setConfig(config));
      directory = unwrap(engine.directory());
    }
    return {
      format: directory.format,
      architecture: directory.architecture || null,
      config: directory.config ?? {},
      tensors: directory.tensors,
      tokenizer: directory.tokenizer ?? null,
      sha256: files.length === 1 ? sha256 : null,
    };
  } finally {
    engine.delete();
  }
}

/** A reference without a file, for a source without neighbours. @type {FileRef} */
const NOWHERE = { kind: 'blob', blob: new Blob(['']), name: null };

/**
 * The weights files of a source in the order they are read.
 * @param {FileRef} ref
 * @param {import('./session.js').Environment & {signal: AbortSignal}} network
 * @param {import('./storage.js').Store} store
 * @returns {Promise<{home: FileRef, files: PlannedFile[]}>} home: the file whose folder holds the others
 */
async function planOf(ref, network, store) {
  if (ref.kind === 'path') {
    const found = await network.paths.stat(ref.path);
    if (!found) throw new LookbackError('not_found', `${ref.path}: no such file or folder`);
    if (found.isFolder)
      return planOf({ kind: 'path', path: await weightsOfFolder(ref.path, network.paths) }, network, store);
  }
  if (!(await mayBeJson(ref))) return { home: ref, files: [{ ref, manifest: null }] };
  const text = await jsonText(ref, network, store);
  const where = whereIs(ref);
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    refuseOtherContent(new TextEncoder().encode(text.slice(0, SNIFF_BYTES)), where);
    throw new LookbackError('bad_manifest', `${where} is not JSON, expected a manifest of shards`);
  }
  if (json?.weight_map !== undefined) {
    const names = Object.values(json.weight_map);
    if (
      names.length === 0 ||
      names.some((name) => typeof name !== 'string' || name.includes('/') || name.includes('\\'))
    ) {
      throw new LookbackError('bad_manifest', `${where}: weight_map is expected to name files of the same folder`);
    }
    const files = [...new Set(names)].sort().map((name) => {
      const file = beside(ref, name, network.paths);
      if (!file) throw new LookbackError('missing_file', `${where}: ${name} has no address, since the index has none`);
      return { ref: file, manifest: null };
    });
    return { home: ref, files };
  }
  if (json?.shards === undefined) refuseOtherContent(new TextEncoder().encode(text.slice(0, SNIFF_BYTES)), where);
  return { home: ref, files: [{ ref, manifest: parseManifest(json, where) }] };
}

/** @param {FileRef} ref */
async function mayBeJson(ref) {
  if (ref.kind === 'blob') return sniff(new Uint8Array(await ref.blob.slice(0, SNIFF_BYTES).arrayBuffer())) === 'json';
  const name = ref.kind === 'url' ? new URL(ref.url).pathname : ref.path;
  return /\.json$/i.test(name);
}

/**
 * A manifest from the network; offline, the one that its stored weights came with.
 * @param {FileRef} ref
 * @param {any} network
 * @param {import('./storage.js').Store} store
 */
async function jsonText(ref, network, store) {
  try {
    const text = await textOf(ref, network);
    if (text === null) throw new LookbackError('not_found', `${whereIs(ref)}: no such file`);
    return text;
  } catch (error) {
    if (ref.kind !== 'url' || /** @type {any} */ (error).code !== 'network_error') throw error;
    const stored = (await store.list()).find((record) => record.address === ref.url && record.complete);
    if (!stored) throw error;
    return JSON.stringify(/** @type {any} */ (stored).manifest);
  }
}

/**
 * @param {string} folder
 * @param {import('./files.js').PathReader} paths
 */
async function weightsOfFolder(folder, paths) {
  for (const name of FOLDER_FILES) if (await paths.stat(paths.join(folder, name))) return paths.join(folder, name);
  const ggufs = (await paths.list(folder)).filter((name) => name.endsWith('.gguf'));
  if (ggufs.length === 1) return paths.join(folder, ggufs[0]);
  throw new LookbackError(
    'not_found',
    `${folder} holds ${ggufs.length === 0 ? 'no weights' : `${ggufs.length} GGUF files`}, expected one of ${FOLDER_FILES.join(', ')} or one .gguf`,
  );
}

/**
 * @param {PlannedFile} planned
 * @param {import('./stored_file.js').Reading} reading
 */
async function open({ ref, manifest }, reading) {
  if (manifest) return openShards(ref, manifest, reading);
  if (ref.kind === 'url') return openAddress(ref.url, reading);
  if (ref.kind === 'blob') return openLocal(ref, ref.blob.size, reading);
  const found = await reading.environment.paths.stat(ref.path);
  if (!found) throw new LookbackError('not_found', `${ref.path}: no such file`);
  return openLocal(ref, found.bytes, reading);
}

/**
 * One file's bytes into the engine.
 * @param {any} engine
 * @param {import('./stored_file.js').WeightsFile} file
 * @param {{name?: string, where: string, signal: AbortSignal, inspectOnly?: boolean, beforeOthers?: () => Promise<void>,
 *   onHeader?: () => Promise<void>}} options
 *   beforeOthers is called with the first bytes of a file that is not GGUF, onHeader when the header is in
 * @returns {Promise<string[] | null>} external data files wanted next; null: the header was enough
 */
async function feedEngine(
  engine,
  file,
  { name = file.name, where, signal, inspectOnly = false, beforeOthers, onHeader },
) {
  unwrap(engine.beginFile({ name, bytes: file.bytes ?? -1, inspectOnly }));
  let headerComplete = false;
  /** @type {Uint8Array} */
  let first = new Uint8Array(0);
  let count = 0;
  let begun = false;
  const begin = async () => {
    begun = true;
    refuseOtherContent(first, where);
    if (!isGguf(first)) await beforeOthers?.();
    const bytes = first;
    first = null;
    await give(bytes);
  };
  const give = async (/** @type {Uint8Array} */ bytes) => {
    for (let at = 0; at < bytes.length; at += FEED_BYTES) {
      const hadHeader = headerComplete;
      const part = bytes.subarray(at, at + FEED_BYTES);
      // The view lives until the next call, since memory may grow.
      unwrap(engine.chunk(part.length)).set(part);
      headerComplete = unwrap(engine.commit(part.length)).headerComplete;
      if (headerComplete && !hadHeader) await onHeader?.();
    }
  };
  for await (const chunk of file.chunks()) {
    throwIfAborted(signal);
    count += chunk.length;
    if (begun) {
      await give(chunk);
    } else {
      // A chunk may be gone when the next one comes; a large one is used up before.
      first = first.length === 0 && chunk.length >= SNIFF_BYTES ? chunk : concatBytes([first, chunk]);
      if (first.length >= SNIFF_BYTES) await begin();
    }
    // Reading on to the end would only cost time, unless that was the end.
    if (inspectOnly && headerComplete && !(file.bytes !== null && count >= file.bytes)) return null;
  }
  if (!begun) await begin();
  return unwrap(engine.endFile()).externalFiles;
}

/** @param {Uint8Array} bytes */
const isGguf = (bytes) => String.fromCharCode(...bytes.subarray(0, 3)) === 'GGU';

/**
 * config.json and tokenizer.json of a safetensors or ONNX file.
 * @param {Source} source
 * @param {FileRef} home
 * @param {any} network
 */
async function sideFiles(source, home, network) {
  const folders = /\.onnx$/i.test(nameOf(home)) ? ['', '../'] : [''];
  const find = async (/** @type {FileRef | undefined} */ given, /** @type {string} */ name) => {
    const places = given
      ? [given]
      : folders.map((folder) => beside(home, folder + name, network.paths)).filter((ref) => ref !== null);
    for (const place of places) {
      const text = await textOf(place, network);
      // Hosts of single-page sites answer any address with their page.
      if (text !== null && !(sniff(new TextEncoder().encode(text.slice(0, SNIFF_BYTES))) === 'html'))
        return { text, places, ref: place };
    }
    return { text: null, places, ref: null };
  };
  const [config, tokenizer] = [
    await find(source.config, 'config.json'),
    await find(source.tokenizer, 'tokenizer.json'),
  ];
  if (config.text === null || tokenizer.text === null) {
    const tried = (/** @type {typeof config} */ found, /** @type {string} */ name) =>
      `${name} (${found.text !== null ? 'found' : found.places.length ? `not at ${found.places.map(whereIs).join(' nor at ')}` : 'not given'})`;
    throw new LookbackError(
      'missing_config',
      `${whereIs(home)} needs two more files: ${tried(config, 'config.json')} and ${tried(tokenizer, 'tokenizer.json')}`,
    );
  }
  const settings = beside(tokenizer.ref, 'tokenizer_config.json', network.paths);
  const tokenizerConfig = settings && (await textOf(settings, network).catch(() => null));
  return {
    config: config.text,
    tokenizer: tokenizer.text,
    tokenizerConfig:
      tokenizerConfig && sniff(new TextEncoder().encode(tokenizerConfig.slice(0, SNIFF_BYTES))) === 'json'
        ? tokenizerConfig
        : null,
  };
}

/**
 * @param {any} engine
 * @param {Source} source
 * @param {any} network
 */
async function ggufTokenizer(engine, source, network) {
  if (source.tokenizer) {
    const text = await textOf(source.tokenizer, network);
    if (text === null) throw new LookbackError('not_found', `${whereIs(source.tokenizer)}: no such file`);
    return fromTokenizerJson(text);
  }
  const data = unwrap(engine.tokenizerData());
  if (!data)
    throw new LookbackError('bad_tokenizer', 'the GGUF file holds no tokenizer; give one as {weights, tokenizer}');
  return fromGguf(data);
}

/**
 * @param {Source} source
 * @param {FileRef} home
 * @param {string} name   as the ONNX file has it
 * @param {any} environment
 * @returns {FileRef}
 */
function externalRef(source, home, name, { paths }) {
  const given = source.external?.[name];
  if (given) return given;
  if (/^([/\\]|[a-z]+:)|(^|[/\\])\.\.([/\\]|$)/i.test(name)) {
    throw new LookbackError(
      'missing_file',
      `${whereIs(home)} wants external data at ${JSON.stringify(name)}, expected a file of its own folder`,
    );
  }
  const ref = beside(home, name, paths);
  if (!ref)
    throw new LookbackError(
      'missing_file',
      `${whereIs(home)} wants external data ${JSON.stringify(name)}: give it as {weights, external: {name: file}}`,
    );
  return ref;
}

/**
 * One tab downloads, the others wait and then read what it stored.
 * @template T
 * @param {string} address
 * @param {boolean} needed
 * @param {AbortSignal} signal
 * @param {() => Promise<T>} task
 * @returns {Promise<T>}
 */
async function underLock(address, needed, signal, task) {
  const locks = globalThis.navigator?.locks;
  if (!needed || !locks) return task();
  return /** @type {any} */ (locks.request(`lookback ${address}`, { signal }, task));
}
