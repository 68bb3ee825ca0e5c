import { test } from 'node:test';
import assert from 'node:assert/strict';
import { encodeLink, decodeLink, encodeOff, decodeOff } from '../../web/app/link_state.js';

const TEXTS = [
  '',
  ' ',
  'a b',
  '100 % # & = + ? / \\ "',
  'line one\nline two\n\n\ttab',
  'Hi 😀 👍🏽 略 שלום',
  '%23%2F',
  '<img src=x onerror=alert(1)>',
  '"><a<b<c',
  '\u0000\u0007\u200b\ufeff\u2028',
  '+ plus',
];

test('any text comes back exactly', () => {
  for (const text of TEXTS) assert.equal(decodeLink(`#${encodeLink({ text })}`).text, text);
});

test('the address stays one line of plain characters', () => {
  for (const text of TEXTS) assert.match(encodeLink({ text }), /^[\x21-\x7e]*$/);
});

test('layer 0, head 0 and token 0 survive', () => {
  const view = { text: 'x', layer: 0, head: 0, token: 0 };
  assert.deepEqual(decodeLink(encodeLink(view)), view);
});

test('all heads averaged is not head 0', () => {
  assert.deepEqual(decodeLink(encodeLink({ head: null, layer: 3 })), { head: null });
});

test('the whole view comes back', () => {
  const view = {
    text: 'a\nb',
    layer: 29,
    head: 8,
    token: 511,
    off: [
      { layer: 17, head: 4 },
      { layer: 0, head: 0, query: 13, key: 0 },
    ],
    model: 'https://example.org/a b.gguf?x=1&y=2#z',
    shade: 'induction',
    sort: 'share',
    aside: true,
    words: true,
    target: '6249',
  };
  assert.deepEqual(decodeLink(encodeLink(view)), view);
});

test('what makes no sense is left out', () => {
  assert.deepEqual(decodeLink('#layer=-1&head=x&token=1e3&off=17,4.x,3.4'), { off: [{ layer: 3, head: 4 }] });
  assert.deepEqual(decodeLink(''), {});
});

test('an empty list of switches can be told from none', () => {
  assert.deepEqual(decodeLink('#off='), { off: [] });
  assert.equal(encodeOff(decodeOff('1.2:3>0,4.5')), '1.2:3>0,4.5');
});
