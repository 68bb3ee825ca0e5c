import { test } from 'node:test';
import assert from 'node:assert/strict';
import { visibleParts, spokenToken, shownToken } from '../../web/view/visible_text.js';

const HOSTILE = [
  ' seven',
  '  ',
  '\t',
  '\n\n',
  '\r\n',
  'a<b',
  '"><img src=x onerror=1>',
  '😀',
  '👨‍👩‍👧',
  '\u200b',
  '\u202e',
  '\ufffd',
  '\ud83d',
  'שלום',
  '\u0000\u001f\u007f',
  '\u00a0',
  '\u3000',
  '\ufeff!',
];

test('parts join to the very same text', () => {
  for (const text of HOSTILE) {
    const back = visibleParts(text)
      .map((p) => p.real)
      .join('');
    assert.equal(back, text, JSON.stringify(text));
  }
});

test('nothing shown is invisible', () => {
  for (const text of HOSTILE) {
    for (const part of visibleParts(text)) assert.match(part.shown, /[^\s\p{Cc}]/u, JSON.stringify(text));
  }
});

test('spaces, tabs and breaks differ', () => {
  assert.deepEqual(
    visibleParts(' \t\n').map((p) => p.shown),
    ['·', '⇥', '↵'],
  );
});

test('an emoji family stays one run, a direction override is marked', () => {
  assert.equal(visibleParts('👨‍👩‍👧').length, 1);
  assert.equal(visibleParts('\u202eabc')[0].shown, 'U+202E');
});

test('spoken names', () => {
  assert.equal(spokenToken({ text: ' seven' }), 'seven');
  assert.equal(spokenToken({ text: '\n\n' }), 'newline newline');
  assert.equal(spokenToken({ text: ' ' }), 'space');
  assert.equal(spokenToken({ text: '略', piece: [1, 3] }), '略, byte piece 2 of 3');
  assert.equal(spokenToken({ text: '<|im_end|>', special: true }), 'special token <|im_end|>');
});

test('pieces carry their number where there is only one line', () => {
  assert.equal(shownToken({ text: '略', piece: [1, 3] }), '略 2/3');
  assert.equal(shownToken({ text: ' a\n' }), '·a↵');
});
