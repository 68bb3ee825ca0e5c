// The tokenizer against the reference: ids, bytes, spans, streaming; and tokenizer files that lie.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tokenizer } from '../../web/engine/tokenizer.js';
import { fromGguf, fromTokenizerJson, readBlob } from '../../web/engine/tokenizer_data.js';
import { ggufTokenizer } from './support/gguf_tokenizer.js';
import { readReference, readReferenceText, weightsPath } from './support/data.js';

const hex = (bytes) => Buffer.from(bytes).toString('hex');
const ids = (tokens) => tokens.map(({ id }) => id);

describe('the tokenizer of the shipped weights', async () => {
  const cases = readReference('tokenizer_cases.json');
  const tokenizer = new Tokenizer(fromGguf(await ggufTokenizer(weightsPath)));

  test('encodes every reference case to its ids', () => {
    assert.equal(cases.encode.length, 365);
    for (const { text, special, ids: expected } of cases.encode) {
      assert.deepEqual(ids(tokenizer.encode(text, { special })), expected, JSON.stringify(text));
    }
  });

  test('gives each token its span: in order, and together the whole text', () => {
    for (const { text, special, roundtrip } of cases.encode) {
      const tokens = tokenizer.encode(text, { special });
      let at = 0;
      for (const token of tokens) {
        assert.equal(token.text, text.slice(token.start, token.end), JSON.stringify(text));
        assert.ok(token.start >= 0 && token.end <= text.length && token.start < token.end, JSON.stringify(text));
        if (token.piece?.[0] > 0) continue;
        assert.ok(
          roundtrip === false ? token.start >= at : token.start === at,
          `${JSON.stringify(text)} at ${at}: ${token.start}`,
        );
        at = token.end;
      }
      if (roundtrip !== false) assert.equal(at, text.length, JSON.stringify(text));
    }
  });

  test('gives back the text of every case that has a token for each byte', () => {
    for (const { text, special, roundtrip } of cases.encode) {
      if (roundtrip === false || /[\ud800-\udfff]/.test(text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ''))) continue;
      assert.equal(tokenizer.decode(ids(tokenizer.encode(text, { special }))), text);
    }
  });

  test('decodes every reference case: bytes, text, without special tokens, and streaming', () => {
    assert.equal(cases.decode.length, 44);
    for (const each of cases.decode) {
      assert.equal(hex(tokenizer.decodeBytes(each.ids)), each.bytes_hex);
      assert.equal(tokenizer.decode(each.ids), each.text);
      assert.equal(tokenizer.decode(each.ids, { skipSpecial: true }), each.text_skip_special);
      const stream = tokenizer.stream();
      assert.deepEqual(
        [...each.ids.map((id) => stream.push(id)), stream.flush()],
        each.stream,
        JSON.stringify(each.ids),
      );
    }
  });

  test('knows the special ids and the bytes without a token', () => {
    for (const [content, id] of Object.entries(cases.special_ids)) {
      assert.deepEqual(ids(tokenizer.encode(content)), [id]);
      assert.ok(tokenizer.isSpecial(id));
      assert.ok(!ids(tokenizer.encode(content, { special: false })).includes(id));
    }
    for (const byte of cases.bytes_without_a_token.filter((value) => value < 0x80)) {
      assert.deepEqual(tokenizer.encode(String.fromCharCode(byte)), []);
    }
  });

  test('pieces of one character share its text and span', () => {
    const tokens = tokenizer.encode('Hi 😀');
    const pieces = tokens.filter((token) => token.piece);
    assert.ok(pieces.length > 1);
    pieces.forEach((token, index) => {
      assert.deepEqual(token.piece, [index, pieces.length]);
      assert.equal(token.end, 5);
      assert.ok(token.text.endsWith('😀'));
    });
    assert.equal(hex(Buffer.concat(tokens.map(({ bytes }) => bytes))), hex(Buffer.from('Hi 😀')));
  });

  test('a lone surrogate is one character with the bytes of U+FFFD', () => {
    const tokens = tokenizer.encode('a\ud800b');
    assert.equal(tokens.at(-1).end, 3);
    assert.equal(tokenizer.decode(ids(tokens)), 'a\ufffdb');
  });

  test('tokens of bare ids agree with tokens of their text', () => {
    for (const { text, special, roundtrip } of cases.encode) {
      if (roundtrip === false || text === '' || !text.isWellFormed()) continue;
      const tokens = tokenizer.encode(text, { special });
      const bare = tokenizer.tokensOfIds(ids(tokens));
      assert.deepEqual(
        bare.map(({ id, text: own, start, end, piece }) => [id, own, start, end, piece]),
        tokens.map(({ id, text: own, start, end, piece }) => [id, own, start, end, piece]),
        JSON.stringify(text),
      );
    }
  });

  test('settled counts the tokens whose text cannot change any more', () => {
    const emoji = [187, 249, 242, 218];
    assert.deepEqual(
      [1, 2, 3, 4].map((count) => tokenizer.settled(emoji.slice(0, count))),
      [0, 0, 0, 4],
    );
    assert.equal(tokenizer.settled([81, 187, 249]), 1);
    assert.equal(tokenizer.settled([218]), 1);
  });

  test('an id outside the vocabulary is bad_token and names the limit', () => {
    for (const id of [49152, -1, 1.5, NaN]) {
      assert.throws(
        () => tokenizer.decode([id]),
        (error) => error.code === 'bad_token' && /49151/.test(error.message),
      );
    }
  });
});

describe('the tiny tokenizers', async () => {
  const cases = readReference('tiny/tiny.tokenizer_cases.json');
  for (const [name, tokenizer] of [
    [
      'tiny-F32.gguf',
      new Tokenizer(fromGguf(await ggufTokenizer(new URL('../data/reference/tiny/tiny-F32.gguf', import.meta.url)))),
    ],
    ['tokenizer.json', new Tokenizer(fromTokenizerJson(readReferenceText('tiny/tiny-hf-F32/tokenizer.json')))],
  ]) {
    test(`${name} encodes its cases`, () => {
      assert.ok(cases.length > 5);
      for (const { text, ids: expected } of cases)
        assert.deepEqual(ids(tokenizer.encode(text)), expected, JSON.stringify(text));
    });
  }
});

describe('tokenizer files that lie', () => {
  const sound = readReferenceText('malformed/tokenizer.json');
  const fails = (text, code, pattern) =>
    assert.throws(
      () => fromTokenizerJson(text),
      (error) => error.code === code && pattern.test(error.message),
    );
  const changed = (change) => {
    const json = JSON.parse(sound);
    change(json);
    return JSON.stringify(json);
  };

  test('the sound one is read', () => {
    assert.ok(new Tokenizer(fromTokenizerJson(sound)).encode('abc').length > 0);
  });
  test('a merge of unknown tokens is named', () => {
    fails(readReferenceText('malformed/tok_merge_unknown.json'), 'bad_tokenizer', /merge \d+ joins/);
  });
  test('text that is not JSON is named', () => {
    fails(readReferenceText('malformed/tok_not_json.json'), 'bad_tokenizer', /not JSON/);
  });
  test('other kinds of tokenizer are named, not guessed', () => {
    fails(
      changed((json) => (json.model.type = 'Unigram')),
      'unsupported_tokenizer',
      /Unigram/,
    );
    fails(
      changed((json) => (json.normalizer = { type: 'NFKC' })),
      'unsupported_tokenizer',
      /NFKC/,
    );
    fails(
      changed((json) => (json.pre_tokenizer = { type: 'Metaspace' })),
      'unsupported_tokenizer',
      /Metaspace/,
    );
    fails(
      changed((json) => (json.pre_tokenizer = null)),
      'unsupported_tokenizer',
      /pre-tokenizer/,
    );
  });
  test('ids that clash, jump or are no numbers are named', () => {
    const two = (json) => Object.keys(json.model.vocab).slice(-2);
    fails(
      changed((json) => (json.model.vocab[two(json)[1]] = json.model.vocab[two(json)[0]])),
      'bad_tokenizer',
      /belongs to both/,
    );
    fails(
      changed((json) => (json.model.vocab[two(json)[1]] += 5)),
      'bad_tokenizer',
      /has no token/,
    );
    fails(
      changed((json) => (json.model.vocab[two(json)[1]] = 'x')),
      'bad_tokenizer',
      /expected a whole number/,
    );
  });
  test('an unknown pre-tokenizer tag of a GGUF file is named', () => {
    const gguf = {
      model: 'gpt2',
      pre: 'default',
      tokens: new Uint8Array(),
      tokenTypes: new Int32Array(),
      merges: new Uint8Array(),
    };
    assert.throws(
      () => fromGguf(gguf),
      (error) => error.code === 'unsupported_tokenizer' && /"default".*smollm/.test(error.message),
    );
  });
  test('a list that passes its end is bad_tokenizer with its place', () => {
    assert.throws(
      () => readBlob(new Uint8Array([1, 0, 0, 0, 65, 9, 0, 0, 0, 65]), 'tokens'),
      (error) => error.code === 'bad_tokenizer' && error.offset === 5,
    );
  });
});
