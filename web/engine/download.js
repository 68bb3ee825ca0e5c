// One address read to its end over a network that cuts, stalls and changes its mind.
// Owns: requests, resume, retries, what an answer's status means. May touch: errors, sniff. Start reading at: openDownload.

import { concatBytes } from './bytes.js';
import { cancelled, LookbackError, throwIfAborted } from './errors.js';
import { describeBody, SNIFF_BYTES } from './sniff.js';

/**
 * Times that tests shorten.
 * @typedef {{tries: number, backoffMs: number, stallMs: number}} Tuning
 */
/** @type {Tuning} */
export const DEFAULT_TUNING = { tries: 5, backoffMs: 500, stallMs: 20000 };

/** A server's wish to be asked later is followed up to here. */
const MOST_RETRY_AFTER_MS = 30000;
const RETRIED_STATUS = new Set([408, 425, 429, 500, 502, 503, 504]);

/** The file changed while it was read: what was read so far is of no use. */
export class SourceChanged extends Error {}

/**
 * @typedef {object} Download
 * @property {string} url
 * @property {number | null} bytes     the whole file's, null where not known for sure
 * @property {number | null} expected  a size for progress only (that of the packed answer, where the server packs)
 * @property {number} start            where `chunks` begins: the offset that was asked for, or 0
 * @property {string | null} validator ETag or Last-Modified
 * @property {Headers} headers
 * @property {() => AsyncGenerator<Uint8Array, void, void>} chunks   each valid until the next is asked for
 */

/**
 * Asks for the rest of a file from `offset` (of the version `validator`); the answer says what it really begins with.
 * @param {string} url
 * @param {{offset?: number, validator?: string | null, signal?: AbortSignal, fetch?: typeof fetch, tuning?: Partial<Tuning>}} [options]
 * @returns {Promise<Download>}
 */
export async function openDownload(
  url,
  { offset = 0, validator = null, signal, fetch = globalThis.fetch, tuning = {} } = {},
) {
  const times = { ...DEFAULT_TUNING, ...tuning };
  const context = { url, signal, fetch, times };
  let first = await request(context, validator ? offset : 0, validator);
  let start = partStart(first.response, offset);
  if (start !== null && (start !== offset || validatorOf(first.response.headers) !== validator)) {
    // Another part, or a part of another version: the whole is the only thing to rely on.
    await drop(first);
    first = await request(context, 0, null);
    start = partStart(first.response, 0);
  }
  start ??= 0;
  const { headers } = first.response;
  const packed = headers.has('content-encoding') && headers.get('content-encoding') !== 'identity';
  const length = wholeLength(first.response);
  // Across origins a browser does not show Content-Encoding, so the length may be that of the packed bytes.
  const certain = !packed && (sameOrigin(url) || first.response.status === 206);
  const version = validatorOf(headers);
  const bytes = certain ? length : null;
  return { url, bytes, expected: packed ? null : length, start, validator: version, headers, chunks };

  async function* chunks() {
    let at = start;
    let attempt = first;
    let failures = 0;
    for (;;) {
      let skip = 0;
      if (!attempt) {
        throwIfAborted(signal);
        attempt = await request(context, packed ? 0 : at, packed ? null : version, failures);
        const now = validatorOf(attempt.response.headers);
        const from = partStart(attempt.response, at);
        if (
          now !== version ||
          (bytes !== null && wholeLength(attempt.response) !== null && wholeLength(attempt.response) !== bytes)
        ) {
          await drop(attempt);
          throw new SourceChanged(`${url} changed while it was read`);
        }
        if (from !== null && from !== at) {
          await drop(attempt);
          throw new LookbackError(
            'network_error',
            `${url}: asked for bytes from ${at}, the server sent those from ${from}`,
          );
        }
        // A server that ignores Range sends all of it again: what is known already is passed over.
        skip = from === null ? at : 0;
      }
      try {
        for await (const chunk of bodyOf(attempt, signal, times.stallMs)) {
          const fresh = skip >= chunk.length ? null : skip > 0 ? chunk.subarray(skip) : chunk;
          skip = Math.max(0, skip - chunk.length);
          if (!fresh) continue;
          at += fresh.length;
          if (bytes !== null && at > bytes) {
            throw new LookbackError('size_mismatch', `${url}: more than the ${bytes} bytes that the server announced`);
          }
          failures = 0;
          yield fresh;
        }
        if (bytes === null || at === bytes) return;
        throw new Error(`the answer ended at byte ${at} of ${bytes}`);
      } catch (error) {
        throwIfAborted(signal);
        if (error instanceof LookbackError) throw error;
        if (++failures >= times.tries) {
          throw new LookbackError(
            'network_error',
            `${url}: cut at byte ${at}${bytes === null ? '' : ` of ${bytes}`}, and again after ${failures} tries (${reason(error)})`,
          );
        }
      } finally {
        await drop(attempt);
        attempt = null;
      }
      await pause(times.backoffMs * 2 ** (failures - 1), signal);
    }
  }
}

/**
 * The whole of a small file.
 * @param {string} url
 * @param {Parameters<typeof openDownload>[1]} options
 */
export async function downloadAll(url, options) {
  const parts = [];
  for await (const chunk of (await openDownload(url, options)).chunks()) parts.push(chunk.slice());
  return concatBytes(parts);
}

/**
 * The whole of a file whose size is known, straight into its place.
 * @param {string} url
 * @param {Uint8Array} room   as large as the file should be; less may come
 * @param {Parameters<typeof openDownload>[1] & {onChunk?: (bytes: number) => void}} options
 * @returns {Promise<Uint8Array>}
 */
export async function downloadSized(url, room, { onChunk, ...options }) {
  const size = room.length;
  let count = 0;
  for await (const chunk of (await openDownload(url, options)).chunks()) {
    if (count + chunk.length > size) {
      throw new LookbackError('size_mismatch', `${url} has more than ${size} bytes, the manifest says ${size}`);
    }
    room.set(chunk, count);
    count += chunk.length;
    onChunk?.(chunk.length);
  }
  return room.subarray(0, count);
}

/**
 * One answer of status 200 or 206; refusals that may pass are asked again.
 * @param {{url: string, signal?: AbortSignal, fetch: typeof fetch, times: Tuning}} context
 * @param {number} offset
 * @param {string | null} validator
 * @param {number} [failures]   tries that failed before
 * @returns {Promise<{response: Response, stop: AbortController, release: () => void}>}
 */
async function request({ url, signal, fetch, times }, offset, validator, failures = 0) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (offset > 0) {
    headers.Range = `bytes=${offset}-`;
    // Across origins If-Range would need the server's leave first; the answer's own validator is compared there.
    if (validator && sameOrigin(url) && !validator.startsWith('W/')) headers['If-Range'] = validator;
  }
  for (;;) {
    throwIfAborted(signal);
    const stop = new AbortController();
    const forward = () => stop.abort();
    signal?.addEventListener('abort', forward, { once: true });
    const release = () => signal?.removeEventListener('abort', forward);
    let wait = times.backoffMs * 2 ** failures;
    let why = '';
    const timer = setTimeout(() => stop.abort(), times.stallMs);
    try {
      const response = await fetch(url, {
        headers,
        signal: stop.signal,
        referrerPolicy: 'no-referrer',
        cache: 'no-store',
      });
      clearTimeout(timer);
      if (response.status === 200 || response.status === 206) return { response, stop, release };
      if (response.status === 416 && offset > 0) {
        // Nothing is left from there on, or the file became shorter.
        await response.body?.cancel();
        delete headers.Range;
        delete headers['If-Range'];
        offset = 0;
        release();
        continue;
      }
      const body = await firstBytes(response);
      why = `HTTP ${response.status}, ${describeBody(body)}`;
      if (!RETRIED_STATUS.has(response.status)) {
        release();
        const code = response.status === 404 || response.status === 410 ? 'not_found' : 'http_error';
        throw new LookbackError(code, `${url}: ${why}`);
      }
      const after = Number(response.headers.get('retry-after'));
      if (after > 0) wait = Math.min(after * 1000, MOST_RETRY_AFTER_MS);
    } catch (error) {
      clearTimeout(timer);
      if (error instanceof LookbackError) throw error;
      if (signal?.aborted) throw cancelled();
      why = stop.signal.aborted ? `no answer within ${times.stallMs / 1000} s` : reason(error);
    }
    release();
    if (++failures >= times.tries) {
      const code = why.startsWith('HTTP') ? 'http_error' : 'network_error';
      throw new LookbackError(code, `${url}: ${why}, after ${failures} tries`);
    }
    await pause(wait, signal);
  }
}

/** Room for one piece of an answer. */
const PIECE_BYTES = 1 << 18;

/**
 * Pieces of a body, read into one and the same buffer where the browser can: a fresh one each would stay in memory until the collector
 * runs, a whole model's worth in a fast download.
 * @param {ReadableStream<Uint8Array>} body
 */
function readerOf(body) {
  /** @type {any} */
  let reader = null;
  try {
    reader = body.getReader({ mode: 'byob' });
  } catch {
    const plain = body.getReader();
    return { read: () => plain.read(), cancel: () => plain.cancel() };
  }
  let buffer = new ArrayBuffer(PIECE_BYTES);
  return {
    /** @returns {Promise<ReadableStreamReadResult<Uint8Array>>} */
    read: async () => {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (value) buffer = value.buffer;
      return { done, value };
    },
    cancel: () => reader.cancel(),
  };
}

/**
 * The bytes of an answer, each piece valid until the next is asked for; a silence of stallMs ends it with an error.
 * @param {{response: Response, stop: AbortController}} attempt
 * @param {AbortSignal | undefined} signal
 * @param {number} stallMs
 * @returns {AsyncGenerator<Uint8Array, void, void>}
 */
async function* bodyOf({ response, stop }, signal, stallMs) {
  if (!response.body) return;
  const reader = readerOf(response.body);
  let ended = false;
  try {
    for (;;) {
      let stalled = false;
      const timer = setTimeout(() => {
        stalled = true;
        stop.abort();
      }, stallMs);
      const { done, value } = await reader
        .read()
        .catch((error) => {
          throwIfAborted(signal);
          throw stalled ? new Error(`nothing came for ${stallMs / 1000} s`) : error;
        })
        .finally(() => clearTimeout(timer));
      throwIfAborted(signal);
      if (done) {
        ended = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!ended) reader.cancel().catch(() => {});
  }
}

/** @param {{response: Response, stop: AbortController, release: () => void}} attempt */
async function drop({ stop, release }) {
  release();
  stop.abort();
}

/** @param {Response} response */
async function firstBytes(response) {
  try {
    const { value } = await response.body.getReader().read();
    return (value ?? new Uint8Array(0)).subarray(0, SNIFF_BYTES);
  } catch {
    return new Uint8Array(0);
  }
}

/**
 * Where a 206 answer begins; null for an answer with the whole file.
 * @param {Response} response
 * @param {number} asked   what it must be where the server does not show it across origins
 */
function partStart(response, asked) {
  if (response.status !== 206) return null;
  const match = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '');
  return match ? Number(match[1]) : asked;
}

/** @param {Response} response */
function wholeLength(response) {
  if (response.status === 206) {
    const match = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '');
    return match ? Number(match[1]) : null;
  }
  const packed = response.headers.has('content-encoding') && response.headers.get('content-encoding') !== 'identity';
  const length = response.headers.get('content-length');
  return length === null || packed ? null : Number(length);
}

/** @param {Headers} headers */
function validatorOf(headers) {
  const etag = headers.get('etag');
  // A weak tag does not promise equal bytes, but no date is better than it either.
  return (etag && !etag.startsWith('W/') ? etag : null) ?? headers.get('last-modified') ?? etag;
}

/** @param {string} url */
function sameOrigin(url) {
  const origin = globalThis.location?.origin;
  return origin === undefined || new URL(url).origin === origin;
}

/**
 * @param {number} ms
 * @param {AbortSignal} [signal]
 */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve(undefined);
    }, ms);
    const abort = () => {
      clearTimeout(timer);
      reject(cancelled());
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** @param {any} error */
const reason = (error) => String(error?.cause?.message || error?.message || error);
