// Text to token ids with the span of every token, and back. Byte-level BPE over @huggingface/tokenizers' pre-tokenizers.
// Owns: special tokens, bytes without a token, spans, streaming. May touch: bpe, tokenizer_data. Start reading at: Tokenizer.encode.

import { Tokenizer as Library } from '@huggingface/tokenizers';
import { BytePairs } from './bpe.js';
import { concatBytes } from './bytes.js';
import { LookbackError } from './errors.js';

/** @typedef {import('./index.d.ts').Token} Token */
/** @typedef {import('./tokenizer_data.js').TokenizerData} TokenizerData */

/** GPT-2's stand-ins for bytes: the printable ones are themselves, the others U+0100 and on, in order. */
const BYTE_TO_CHAR = (() => {
  const chars = new Array(256);
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    chars[byte] = String.fromCharCode(printable ? byte : next++);
  }
  return chars;
})();
const CHAR_TO_BYTE = new Map(BYTE_TO_CHAR.map((char, byte) => [char, byte]));

/**
 * GPT-2's pattern. White space is named by its Unicode property: `\s` of JavaScript lacks U+0085 and counts U+FEFF, where the reference's
 * does the opposite.
 */
const GPT2_PATTERN =
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+";

const isolated = (/** @type {string} */ pattern) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});

/** Each digit alone; runs of digits; words. A TokenizerData names the steps that its text is split by. */
const SPLITS = { digit: isolated('\\p{N}'), digits: isolated('\\p{N}+'), words: isolated(GPT2_PATTERN) };

const utf8 = new TextEncoder();
/** U+FFFD for each maximal ill-formed part; a byte order mark is a character like others. */
const newDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

export class Tokenizer {
  /** @type {string[]} text of each id, byte-level but for added ones */
  #tokens;
  /** @type {Uint8Array[]} bytes of each id, made when first asked for */
  #bytes;
  /** @type {Set<number>} */
  #added;
  /** @type {Map<string, number>} */
  #vocab;
  /** @type {Set<number>} */
  #special;
  /** @type {Map<string, number>} text of a special token → id */
  #specialIds;
  /** @type {RegExp | null} */
  #specialPattern;
  /** @type {boolean[]} */
  #byteHasToken;
  /** @type {number | null} */
  #unknownId;
  #ignoreMerges;
  #pairs;
  #library;

  /** @param {TokenizerData} data   validated by tokenizer_data.js */
  constructor(data) {
    this.eosId = data.eosId;
    this.bosId = data.bosId;
    this.chatTemplate = data.chatTemplate;
    this.size = data.tokens.length;
    this.#special = new Set(data.added.filter((token) => token.special).map((token) => token.id));
    this.#specialIds = new Map(data.added.map(({ content, id }) => [content, id]));
    const contents = data.added.map((token) => token.content).filter((content) => content !== '');
    // The longest wins where several begin at one place.
    contents.sort((a, b) => b.length - a.length);
    this.#specialPattern = contents.length ? new RegExp(contents.map(escapePattern).join('|'), 'gu') : null;

    this.#added = new Set(data.added.map((token) => token.id));
    this.#tokens = data.tokens;
    this.#bytes = new Array(data.tokens.length);
    this.#vocab = new Map();
    data.tokens.forEach((token, id) => {
      if (!this.#added.has(id)) this.#vocab.set(token, id);
    });
    this.#byteHasToken = BYTE_TO_CHAR.map((char) => this.#vocab.has(char));
    const missing = data.unknown === null ? BYTE_TO_CHAR.filter((char) => !this.#vocab.has(char)) : [];
    this.#unknownId = data.unknown === null ? null : data.tokens.indexOf(data.unknown);
    if (this.#unknownId !== null) this.#vocab.set(data.unknown, this.#unknownId);
    this.#ignoreMerges = data.ignoreMerges;
    this.#pairs = new BytePairs(data.merges);
    // Its model is not used: filling it took longer than the whole of this.
    this.#library = new Library(
      {
        added_tokens: [],
        normalizer: null,
        pre_tokenizer: {
          type: 'Sequence',
          pretokenizers: [
            ...data.splits.map((name) => SPLITS[name]),
            { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
            // The reference leaves a byte without a token out before it merges, so its neighbours meet.
            ...(missing.length
              ? [{ type: 'Replace', pattern: { Regex: `[${missing.map(escapeUnit).join('')}]` }, content: '' }]
              : []),
          ],
        },
        post_processor: null,
        decoder: null,
        model: { type: 'BPE', vocab: {}, merges: [], unk_token: null },
      },
      {},
    );
  }

  /**
   * @param {string} text
   * @param {{special?: boolean}} [options]
   * @returns {Token[]}
   */
  encode(text, { special = true } = {}) {
    /** @type {Token[]} */
    const tokens = [];
    let from = 0;
    if (special && this.#specialPattern) {
      for (const match of text.matchAll(this.#specialPattern)) {
        this.#encodePlain(text.slice(from, match.index), from, tokens);
        from = match.index + match[0].length;
        const id = this.#specialIds.get(match[0]);
        tokens.push({
          id,
          text: match[0],
          bytes: this.bytes(id),
          start: match.index,
          end: from,
          special: this.#special.has(id),
        });
      }
    }
    this.#encodePlain(text.slice(from), from, tokens);
    return tokens;
  }

  /**
   * Text without special tokens in it, at `offset` of the whole.
   * @param {string} text
   * @param {number} offset
   * @param {Token[]} tokens   appended to
   */
  #encodePlain(text, offset, tokens) {
    if (text === '') return;
    const pieces = this.#library.pre_tokenizer(text, {}).filter((/** @type {string} */ piece) => piece !== '');
    const ids = pieces.flatMap((/** @type {string} */ piece) => this.#idsOf(piece));
    const characters = [...characterSpans(text)];
    let next = 0; // character
    let used = 0; // bytes of it that are behind us
    /** @type {{token: Token, first: number, last: number, partial: boolean}[]} */
    const spans = [];
    for (const id of ids) {
      const bytes = this.bytes(id);
      let first = -1;
      let last = -1;
      let partial = false;
      // The unknown token stands for one byte, every other one for its own.
      for (let left = id === this.#unknownId ? 1 : bytes.length; left > 0;) {
        const character = characters[next];
        if (used === character.bytes.length) {
          next++;
          used = 0;
          continue;
        }
        if (!this.#stands(character.bytes[used++])) continue;
        if (first < 0) first = next;
        last = next;
        left--;
      }
      // Bytes that have no token belong to the character they are part of; a character that has none left is behind us.
      while (used < characters[next].bytes.length && !this.#stands(characters[next].bytes[used])) used++;
      if (used < characters[next].bytes.length) partial = true;
      spans.push({ token: { id, text: '', bytes, start: 0, end: 0, special: false }, first, last, partial });
    }
    for (let begin = 0; begin < spans.length;) {
      // Tokens that cut a character stay together up to the one that ends it.
      let end = begin + 1;
      while (end < spans.length && spans[end - 1].partial) end++;
      const group = spans.slice(begin, end);
      const start = characters[group[0].first].start;
      const stop = characters[group.at(-1).last].end;
      group.forEach(({ token }, index) => {
        token.start = offset + start;
        token.end = offset + stop;
        token.text = text.slice(start, stop);
        if (group.length > 1) token.piece = [index, group.length];
        tokens.push(token);
      });
      begin = end;
    }
  }

  /**
   * @param {string} word   in byte-level spelling
   * @returns {number[]} without what has no token and no unknown token to stand for it
   */
  #idsOf(word) {
    const whole = this.#ignoreMerges ? this.#vocab.get(word) : undefined;
    if (whole !== undefined) return [whole];
    return this.#pairs
      .split(word)
      .map((piece) => this.#vocab.get(piece) ?? this.#unknownId)
      .filter((id) => id !== null);
  }

  /**
   * Whether some token stands for this byte of a text.
   * @param {number} byte
   */
  #stands(byte) {
    return this.#unknownId !== null || this.#byteHasToken[byte];
  }

  /**
   * The bytes of one id.
   * @param {number} id
   */
  bytes(id) {
    const token = this.#tokens[id];
    if (token === undefined) {
      throw new LookbackError(
        'bad_token',
        `token id ${id} is outside the vocabulary, expected a whole number from 0 to ${this.size - 1}`,
      );
    }
    return (this.#bytes[id] ??= this.#added.has(id) ? utf8.encode(token) : tokenBytes(token));
  }

  /**
   * The text of one token alone, U+FFFD where it holds only part of a character.
   * @param {number} id
   */
  text(id) {
    return newDecoder().decode(this.bytes(id));
  }

  /** @param {number} id */
  isSpecial(id) {
    return this.#special.has(id);
  }

  /**
   * @param {ArrayLike<number>} ids
   * @param {{skipSpecial?: boolean}} [options]
   */
  decodeBytes(ids, { skipSpecial = false } = {}) {
    const parts = Array.from(ids, (id) => {
      const bytes = this.bytes(id);
      return skipSpecial && this.#special.has(id) ? new Uint8Array(0) : bytes;
    });
    return concatBytes(parts);
  }

  /**
   * @param {ArrayLike<number>} ids
   * @param {{skipSpecial?: boolean}} [options]
   */
  decode(ids, options) {
    return newDecoder().decode(this.decodeBytes(ids, options));
  }

  /**
   * A decoder for one run: whole characters as soon as they are complete, the rest at the flush.
   * @param {{skipSpecial?: boolean}} [options]
   */
  stream({ skipSpecial = false } = {}) {
    const decoder = newDecoder();
    /** @type {Uint8Array} */
    let held = new Uint8Array(0);
    return {
      /** @param {number} id */
      push: (id) => {
        const own = this.bytes(id);
        if (skipSpecial && this.#special.has(id)) return '';
        const bytes = concatBytes([held, own]);
        // The reference's decoder waits for a surrogate's third byte before it gives the three up; TextDecoder gives up at the second.
        const wait =
          bytes.at(-1) === 0xed ? 1 : bytes.at(-2) === 0xed && bytes.at(-1) >= 0xa0 && bytes.at(-1) <= 0xbf ? 2 : 0;
        held = bytes.slice(bytes.length - wait);
        return decoder.decode(bytes.subarray(0, bytes.length - wait), { stream: true });
      },
      flush: () => decoder.decode(held),
    };
  }

  /**
   * Tokens of bare ids, with spans in their joined text.
   * @param {ArrayLike<number>} ids
   * @param {number} [offset]   of the joined text in a longer one
   * @returns {Token[]}
   */
  tokensOfIds(ids, offset = 0) {
    /** @type {Token[]} */
    const tokens = [];
    let group = [];
    let decoder = newDecoder();
    let text = '';
    let at = offset;
    const close = () => {
      text += decoder.decode();
      decoder = newDecoder();
      group.forEach((id, index) => {
        const token = {
          id,
          text,
          bytes: this.bytes(id),
          start: at,
          end: at + text.length,
          special: this.#special.has(id),
        };
        tokens.push(
          group.length > 1 ? { ...token, piece: /** @type {[number, number]} */ ([index, group.length]) } : token,
        );
      });
      at += text.length;
      group = [];
      text = '';
    };
    for (let index = 0; index < ids.length; index++) {
      const id = ids[index];
      if (this.#special.has(id)) {
        if (group.length) close();
        group = [id];
        text = decoder.decode(this.bytes(id), { stream: true });
        close();
        continue;
      }
      group.push(id);
      text += decoder.decode(this.bytes(id), { stream: true });
      if (endsWhole(concatBytes(group.map((member) => this.bytes(member))))) close();
    }
    if (group.length) close();
    return tokens;
  }

  /**
   * How many of these ids have their final text: all but a tail that ends inside a character.
   * @param {ArrayLike<number>} ids
   */
  settled(ids) {
    let pending = 0;
    /** @type {Uint8Array[]} */
    let group = [];
    for (let index = 0; index < ids.length; index++) {
      group.push(this.bytes(ids[index]));
      if (this.#special.has(ids[index]) || endsWhole(concatBytes(group))) group = [];
      pending = group.length;
    }
    return ids.length - pending;
  }
}

/**
 * Characters of a text: UTF-8 bytes and UTF-16 span. A lone surrogate is U+FFFD's bytes, as the encoder gives.
 * @param {string} text
 */
function* characterSpans(text) {
  let start = 0;
  for (const character of text) {
    yield { bytes: utf8.encode(character), start, end: start + character.length };
    start += character.length;
  }
}

/**
 * The bytes that a byte-level token stands for. A token with other characters in it stands for its own text.
 * @param {string} token
 */
function tokenBytes(token) {
  const bytes = new Uint8Array(token.length);
  for (let index = 0; index < token.length; index++) {
    const byte = CHAR_TO_BYTE.get(token[index]);
    if (byte === undefined) return utf8.encode(token);
    bytes[index] = byte;
  }
  return bytes;
}

/**
 * Whether a stream decoder would hold nothing back after these bytes.
 * @param {Uint8Array} bytes
 */
function endsWhole(bytes) {
  // Only the last three bytes can begin a character that is not complete; what stands before them changes nothing.
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if (byte < 0x80) return true;
    if (byte >= 0xc0) {
      const decoder = newDecoder();
      decoder.decode(bytes.subarray(bytes.length - back), { stream: true });
      return decoder.decode() === '';
    }
  }
  return true;
}

const escapePattern = (/** @type {string} */ text) =>
  text.replace(/[\\^$.*+?()[\]{}|/-]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
const escapeUnit = (/** @type {string} */ char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
