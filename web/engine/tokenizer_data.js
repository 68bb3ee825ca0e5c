// What a tokenizer is made of, out of GGUF metadata or tokenizer.json, checked before anything is built from it.
// Owns: which tokenizers are read. May touch: errors. Start reading at: TokenizerData.

import { LookbackError } from './errors.js';

/**
 * @typedef {object} TokenizerData
 * @property {string[]} tokens            by id; byte-level spelling, special tokens as they are
 * @property {string[]} merges            'LEFT RIGHT', most important first
 * @property {{id: number, content: string, special: boolean}[]} added   matched whole before anything else
 * @property {('digit' | 'digits' | 'words')[]} splits   steps before bytes
 * @property {boolean} ignoreMerges       a word that is a token is never merged
 * @property {string | null} unknown      stands for each byte without a token; null: such bytes are left out
 * @property {number | null} bosId
 * @property {number | null} eosId
 * @property {string | null} chatTemplate
 */

/**
 * Pre-tokenizers by their GGUF tag. `smollm` is each digit alone, then GPT-2's words; several other models of the same family carry their
 * own tag for the same steps.
 * @type {Record<string, TokenizerData['splits']>}
 */
const PRE_TOKENIZERS = { smollm: ['digit', 'words'], 'gpt-2': ['words'] };

/** Token types of tokenizer.ggml.token_type (llama.cpp, llama_token_type). */
const GGML_CONTROL = 3;
const GGML_USER_DEFINED = 4;

/**
 * @param {{model: string, pre: string, tokens: Uint8Array, tokenTypes: Int32Array, merges: Uint8Array, bosId: number, eosId: number,
 *   chatTemplate: string}} gguf   the engine's tokenizerData()
 * @returns {TokenizerData}
 */
export function fromGguf(gguf) {
  if (gguf.model !== 'gpt2') {
    throw new LookbackError(
      'unsupported_tokenizer',
      `tokenizer.ggml.model is "${gguf.model}", expected gpt2 (byte-level BPE)`,
    );
  }
  const splits = PRE_TOKENIZERS[gguf.pre];
  if (!splits) {
    throw new LookbackError(
      'unsupported_tokenizer',
      `tokenizer.ggml.pre is "${gguf.pre ?? ''}", expected one of ${Object.keys(PRE_TOKENIZERS).join(', ')}: another splitting of text would give wrong tokens`,
    );
  }
  const tokens = readBlob(gguf.tokens, 'tokenizer.ggml.tokens');
  const types = gguf.tokenTypes;
  if (types.length !== 0 && types.length !== tokens.length) {
    throw new LookbackError(
      'bad_tokenizer',
      `tokenizer.ggml.token_type has ${types.length} entries for ${tokens.length} tokens`,
    );
  }
  const added = [];
  types.forEach((type, id) => {
    if (type === GGML_CONTROL || type === GGML_USER_DEFINED)
      added.push({ id, content: tokens[id], special: type === GGML_CONTROL });
  });
  const merges = readBlob(gguf.merges, 'tokenizer.ggml.merges');
  return validated({
    tokens,
    merges,
    added,
    splits,
    ignoreMerges: false,
    unknown: null,
    bosId: optionalId(gguf.bosId),
    eosId: optionalId(gguf.eosId),
    chatTemplate: gguf.chatTemplate || null,
  });
}

/**
 * @param {string} text    of tokenizer.json
 * @param {{config?: string | null, tokenizerConfig?: string | null, name?: string}} [beside]   config.json and tokenizer_config.json, where they are
 * @returns {TokenizerData}
 */
export function fromTokenizerJson(text, { config = null, tokenizerConfig = null, name = 'tokenizer.json' } = {}) {
  const json = parseObject(text, name);
  const model = json.model;
  if (model?.type !== 'BPE' && !(model?.type === undefined && model?.vocab && model?.merges)) {
    throw new LookbackError(
      'unsupported_tokenizer',
      `${name}: the model's type is ${JSON.stringify(model?.type)}, expected "BPE"`,
    );
  }
  if (json.normalizer) {
    throw new LookbackError(
      'unsupported_tokenizer',
      `${name}: it has a normalizer (${json.normalizer.type}), expected none, as byte-level BPE has`,
    );
  }
  for (const key of ['continuing_subword_prefix', 'end_of_word_suffix', 'byte_fallback', 'fuse_unk']) {
    if (model[key]) {
      throw new LookbackError(
        'unsupported_tokenizer',
        `${name}: model.${key} is ${JSON.stringify(model[key])}, expected none, as byte-level BPE has`,
      );
    }
  }
  if (!isObject(model.vocab) || !Array.isArray(model.merges)) {
    throw new LookbackError(
      'bad_tokenizer',
      `${name}: model.vocab and model.merges are missing, expected an object and a list`,
    );
  }
  /** @type {string[]} */
  const tokens = [];
  const place = (/** @type {string} */ token, /** @type {any} */ id) => {
    if (!Number.isInteger(id) || id < 0 || id > 0xffffff) {
      throw new LookbackError(
        'bad_tokenizer',
        `${name}: token ${JSON.stringify(token)} has the id ${JSON.stringify(id)}, expected a whole number`,
      );
    }
    if (tokens[id] !== undefined && tokens[id] !== token) {
      throw new LookbackError(
        'bad_tokenizer',
        `${name}: id ${id} belongs to both ${JSON.stringify(tokens[id])} and ${JSON.stringify(token)}`,
      );
    }
    tokens[id] = token;
  };
  for (const [token, id] of Object.entries(model.vocab)) place(token, id);
  const added = (json.added_tokens ?? []).map((/** @type {any} */ token) => {
    if (typeof token?.content !== 'string')
      throw new LookbackError('bad_tokenizer', `${name}: an added token has no content`);
    for (const flag of ['single_word', 'lstrip', 'rstrip']) {
      if (token[flag])
        throw new LookbackError(
          'unsupported_tokenizer',
          `${name}: added token ${JSON.stringify(token.content)} sets ${flag}, which is not read here`,
        );
    }
    place(token.content, token.id);
    return { id: token.id, content: token.content, special: token.special === true };
  });
  const merges = model.merges.map((/** @type {any} */ merge, /** @type {number} */ index) =>
    typeof merge === 'string' ? merge : joinedPair(merge, index, name),
  );
  const settings = tokenizerConfig ? parseObject(tokenizerConfig, 'tokenizer_config.json') : {};
  const modelConfig = config ? parseObject(config, 'config.json') : {};
  const idOf = (/** @type {any} */ token) => {
    const content = typeof token === 'string' ? token : token?.content;
    const id = content === undefined ? -1 : tokens.indexOf(content);
    return id < 0 ? null : id;
  };
  const firstId = (/** @type {any} */ id) => (Array.isArray(id) ? id[0] : id);
  return validated(
    {
      tokens,
      merges,
      added,
      splits: splitsOf(json.pre_tokenizer, name),
      ignoreMerges: model.ignore_merges === true,
      unknown: typeof model.unk_token === 'string' && tokens.includes(model.unk_token) ? model.unk_token : null,
      bosId: idOf(settings.bos_token) ?? optionalId(firstId(modelConfig.bos_token_id)),
      eosId: idOf(settings.eos_token) ?? optionalId(firstId(modelConfig.eos_token_id)),
      chatTemplate: typeof settings.chat_template === 'string' ? settings.chat_template : null,
    },
    name,
  );
}

/**
 * @param {any} step    pre_tokenizer of tokenizer.json
 * @param {string} name
 * @returns {TokenizerData['splits']}
 */
function splitsOf(step, name) {
  const steps = step?.type === 'Sequence' ? (step.pretokenizers ?? []) : [step];
  /** @type {TokenizerData['splits']} */
  const splits = [];
  let bytes = false;
  for (const each of steps) {
    if (bytes)
      throw new LookbackError(
        'unsupported_tokenizer',
        `${name}: pre-tokenizer ${each?.type} comes after ByteLevel, expected ByteLevel last`,
      );
    if (each?.type === 'Digits') {
      splits.push(each.individual_digits ? 'digit' : 'digits');
    } else if (each?.type === 'ByteLevel') {
      if (each.add_prefix_space)
        throw new LookbackError(
          'unsupported_tokenizer',
          `${name}: ByteLevel adds a space in front, which is not read here`,
        );
      if (each.use_regex !== false) splits.push('words');
      bytes = true;
    } else {
      throw new LookbackError(
        'unsupported_tokenizer',
        `${name}: pre-tokenizer ${each?.type ?? 'missing'}, expected Digits and ByteLevel`,
      );
    }
  }
  if (!bytes) throw new LookbackError('unsupported_tokenizer', `${name}: the pre-tokenizer has no ByteLevel step`);
  return splits;
}

/**
 * @param {TokenizerData} data
 * @param {string} [name]
 */
function validated(data, name = 'tokenizer.ggml') {
  const { tokens, merges, added } = data;
  if (tokens.length === 0) throw new LookbackError('bad_tokenizer', `${name}: no tokens`);
  const special = new Set(added.map(({ id }) => id));
  const known = new Map();
  for (let id = 0; id < tokens.length; id++) {
    if (tokens[id] === undefined)
      throw new LookbackError('bad_tokenizer', `${name}: id ${id} of ${tokens.length} has no token`);
    if (special.has(id)) continue;
    if (known.has(tokens[id])) {
      throw new LookbackError(
        'bad_tokenizer',
        `${name}: tokens ${known.get(tokens[id])} and ${id} are both ${JSON.stringify(tokens[id])}`,
      );
    }
    known.set(tokens[id], id);
  }
  for (let index = 0; index < merges.length; index++) {
    const [left, right] = splitMerge(merges[index], index);
    if (known.has(left) && known.has(right) && known.has(left + right)) continue;
    const lacking = [left, right, left + right].find((part) => !known.has(part));
    throw new LookbackError(
      'bad_tokenizer',
      `${name}: merge ${index} joins ${JSON.stringify(left)} and ${JSON.stringify(right)}, but ${JSON.stringify(lacking)} is no token`,
    );
  }
  for (const [what, id] of /** @type {[string, number | null][]} */ ([
    ['bos', data.bosId],
    ['eos', data.eosId],
  ])) {
    if (id !== null && id >= tokens.length)
      throw new LookbackError('bad_tokenizer', `${name}: ${what} is id ${id} of ${tokens.length}`);
  }
  return data;
}

/**
 * A list of strings as the engine hands it over: each a u32 length (little-endian) and UTF-8 bytes.
 * @param {Uint8Array} blob
 * @param {string} name
 */
export function readBlob(blob, name) {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const strings = [];
  const decode = (/** @type {number} */ from, /** @type {number} */ to) =>
    shortText(blob, from, to) ?? decoder.decode(blob.subarray(from, to));
  let at = 0;
  while (at < blob.length) {
    if (at + 4 > blob.length || at + 4 + view.getUint32(at, true) > blob.length) {
      throw new LookbackError('bad_tokenizer', `${name}: entry ${strings.length} passes the end`, { offset: at });
    }
    const size = view.getUint32(at, true);
    at += 4;
    try {
      strings.push(decode(at, at + size));
    } catch {
      throw new LookbackError('bad_tokenizer', `${name}: entry ${strings.length} is not UTF-8`);
    }
    at += size;
  }
  return strings;
}

/** @type {number[]} */
const codes = [];

/**
 * UTF-8 of short strings of one- and two-byte characters, which nearly all tokens and merges are: asking the decoder a hundred thousand
 * times takes longer than all else. Null for others.
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 */
function shortText(bytes, from, to) {
  if (to - from > 64) return null;
  codes.length = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte < 0x80) {
      codes.push(byte);
    } else {
      // C2 to DF and one more; everything else, right or wrong, is the decoder's.
      if (byte < 0xc2 || byte > 0xdf || at + 1 === to || (bytes[at + 1] & 0xc0) !== 0x80) return null;
      codes.push(((byte & 0x1f) << 6) | (bytes[++at] & 0x3f));
    }
  }
  return String.fromCharCode.apply(null, codes);
}

/**
 * @param {string} merge
 * @param {number} index
 * @returns {[string, string]}
 */
function splitMerge(merge, index) {
  const space = merge.indexOf(' ');
  if (space < 1 || space !== merge.lastIndexOf(' ') || space === merge.length - 1) {
    throw new LookbackError(
      'bad_tokenizer',
      `merge ${index} is ${JSON.stringify(merge)}, expected two tokens with one space between`,
    );
  }
  return [merge.slice(0, space), merge.slice(space + 1)];
}

/**
 * @param {any} merge
 * @param {number} index
 * @param {string} name
 * @returns {string}
 */
function joinedPair(merge, index, name) {
  if (!Array.isArray(merge) || merge.length !== 2 || merge.some((part) => typeof part !== 'string')) {
    throw new LookbackError(
      'bad_tokenizer',
      `${name}: merge ${index} is ${JSON.stringify(merge)}, expected two tokens`,
    );
  }
  return `${merge[0]} ${merge[1]}`;
}

/**
 * @param {string} text
 * @param {string} name
 */
function parseObject(text, name) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new LookbackError('bad_tokenizer', `${name} is not JSON: ${/** @type {Error} */ (error).message}`);
  }
  if (!isObject(value)) throw new LookbackError('bad_tokenizer', `${name} holds no object`);
  return value;
}

const isObject = (/** @type {any} */ value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const optionalId = (/** @type {any} */ id) => (Number.isInteger(id) && id >= 0 ? id : null);
