// The manifest of a weights file cut into shards, for hosts that refuse large files.
//
//   { "name": "SmolLM2-135M-Instruct.Q4_1.gguf",   the file's own name
//     "format": "gguf",                            gguf, safetensors or onnx
//     "bytes": 98362432, "sha256": "…",            of the whole file
//     "shards": [ { "url": "….000", "bytes": 8388608, "sha256": "…" }, … ] }
//
// The file is its shards one after the other. `url` is relative to the manifest's own address. scripts/build writes it with shards of at
// most 8 MiB: small enough to be verified one by one while the next are on their way.

import { LookbackError } from './errors.js';

/**
 * @typedef {{name: string, format: string, bytes: number, sha256: string, shards: {url: string, bytes: number, sha256: string}[]}} Manifest
 */

/** A shard is verified before any of it is used, so it has to fit in memory. */
const MOST_SHARD_BYTES = 256 * 1024 * 1024;

/**
 * @param {any} json
 * @param {string} where
 * @returns {Manifest}
 */
export function parseManifest(json, where) {
  const fail = (/** @type {string} */ what) => {
    throw new LookbackError('bad_manifest', `${where}: ${what}`);
  };
  const isHash = (/** @type {any} */ text) => typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);
  const isSize = (/** @type {any} */ size) => Number.isSafeInteger(size) && size > 0;
  if (typeof json?.name !== 'string' || json.name === '') fail("name is missing, expected the file's name");
  if (!['gguf', 'safetensors', 'onnx'].includes(json.format))
    fail(`format is ${JSON.stringify(json.format)}, expected gguf, safetensors or onnx`);
  if (!isSize(json.bytes)) fail(`bytes is ${JSON.stringify(json.bytes)}, expected the file's size`);
  if (!isHash(json.sha256)) fail('sha256 is missing, expected 64 hexadecimal digits');
  if (!Array.isArray(json.shards) || json.shards.length === 0) fail('shards is missing, expected a list');
  let sum = 0;
  json.shards.forEach((/** @type {any} */ shard, /** @type {number} */ index) => {
    if (typeof shard?.url !== 'string' || shard.url === '') fail(`shard ${index} has no url`);
    if (!isSize(shard.bytes) || shard.bytes > MOST_SHARD_BYTES)
      fail(`shard ${index}: bytes is ${JSON.stringify(shard.bytes)}, expected 1 to ${MOST_SHARD_BYTES}`);
    if (!isHash(shard.sha256)) fail(`shard ${index} has no sha256 of 64 hexadecimal digits`);
    sum += shard.bytes;
  });
  if (sum !== json.bytes) fail(`the shards hold ${sum} bytes together, expected ${json.bytes}`);
  return json;
}
