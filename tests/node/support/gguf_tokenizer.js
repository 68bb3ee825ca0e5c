// The tokenizer metadata of a GGUF file in the shape of the engine's tokenizerData(), read by a few lines of their own, so that the
// tokenizer's tests need no engine.
import { open } from 'node:fs/promises';

const HEADER_BYTES = 16 * 1024 * 1024;

/** @param {string | URL} path */
export async function ggufTokenizer(path) {
  const file = await open(path);
  const bytes = Buffer.alloc(Math.min(HEADER_BYTES, (await file.stat()).size));
  await file.read(bytes, 0, bytes.length, 0);
  await file.close();
  let at = 8;
  const u32 = () => ((at += 4), bytes.readUInt32LE(at - 4));
  const u64 = () => ((at += 8), Number(bytes.readBigUInt64LE(at - 8)));
  const string = () => {
    const size = u64();
    at += size;
    return bytes.subarray(at - size, at);
  };
  const sizes = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };
  const value = (/** @type {number} */ type) => {
    if (type === 8) return string();
    if (type === 9) {
      const item = u32();
      const count = u64();
      return Array.from({ length: count }, () => value(item));
    }
    at += sizes[type];
    if (type === 4) return bytes.readUInt32LE(at - 4);
    if (type === 5) return bytes.readInt32LE(at - 4);
    return null;
  };
  u64(); // tensors
  const pairs = u64();
  /** @type {Record<string, any>} */
  const metadata = {};
  for (let pair = 0; pair < pairs; pair++) {
    const key = string().toString();
    metadata[key] = value(u32());
  }
  const blob = (/** @type {Buffer[]} */ strings) =>
    Uint8Array.from(Buffer.concat(strings.flatMap((each) => [Buffer.from(Uint32Array.of(each.length).buffer), each])));
  const get = (/** @type {string} */ key) => metadata[`tokenizer.ggml.${key}`];
  return {
    model: get('model').toString(),
    pre: get('pre')?.toString(),
    tokens: blob(get('tokens')),
    tokenTypes: Int32Array.from(get('token_type')),
    merges: blob(get('merges')),
    bosId: get('bos_token_id') ?? -1,
    eosId: get('eos_token_id') ?? -1,
    chatTemplate: metadata['tokenizer.chat_template']?.toString() ?? '',
  };
}
