// Owns: how a piece of text is made visible without changing it. May touch: nothing. Start at visibleParts.

/**
 * @typedef {object} Part
 * @property {'text'|'space'|'break'|'control'|'dead'} kind
 * @property {string} shown what stands on the page
 * @property {string} real the characters it stands for
 * @property {string} name how it is read aloud
 */

const NAMED = new Map([
  [0x20, ['space', '·', 'space']],
  [0x09, ['space', '⇥', 'tab']],
  [0x0a, ['break', '↵', 'newline']],
  [0x0d, ['break', '␍', 'carriage return']],
  [0xa0, ['space', '⍽', 'no-break space']],
  [0x3000, ['space', '□', 'ideographic space']],
  [0x7f, ['control', '␡', 'delete']],
  [0xfffd, ['dead', '\ufffd', 'bytes that are no character']],
]);

const hex = (code) => code.toString(16).toUpperCase().padStart(4, '0');

/** Joins that belong inside a character (emoji sequences) are left alone unless nothing precedes them. */
const JOINS = new Set([0x200d, 0xfe0e, 0xfe0f, 0x200c]);

/** @returns {Omit<Part, 'real'>|null} null for plain text */
function mark(code, first) {
  if (code > 0x20 && code < 0x7f) return null;
  const named = NAMED.get(code);
  if (named) return { kind: /** @type {Part['kind']} */ (named[0]), shown: named[1], name: named[2] };
  if (code < 0x20)
    return { kind: 'control', shown: String.fromCodePoint(0x2400 + code), name: `control U+${hex(code)}` };
  if (code >= 0xd800 && code <= 0xdfff) return { kind: 'dead', shown: '\ufffd', name: `half of a pair U+${hex(code)}` };
  const char = String.fromCodePoint(code);
  if (/[\p{Zs}\u2028\u2029\u0085]/u.test(char))
    return { kind: 'space', shown: `U+${hex(code)}`, name: `space U+${hex(code)}` };
  if (JOINS.has(code) && !first) return null;
  if (/[\p{Cc}\p{Cf}]/u.test(char) || JOINS.has(code)) {
    return { kind: 'control', shown: `U+${hex(code)}`, name: `invisible U+${hex(code)}` };
  }
  return null;
}

/**
 * Splits a text into runs of plain text and marked characters; joining every `real` gives the text back exactly.
 * @param {string} text @returns {Part[]}
 */
export function visibleParts(text) {
  /** @type {Part[]} */
  const parts = [];
  let first = true;
  for (const real of text) {
    const found = mark(/** @type {number} */ (real.codePointAt(0)), first);
    const last = parts[parts.length - 1];
    if (found) parts.push({ ...found, real });
    else if (last?.kind === 'text') {
      last.shown += real;
      last.real += real;
      last.name += real;
    } else parts.push({ kind: 'text', shown: real, real, name: real });
    first = false;
  }
  return parts;
}

/** @typedef {{text: string, special?: boolean, piece?: [number, number]}} Named */

/**
 * The same answer for the same token object: a run's tokens are named again with every tap.
 * @param {(token: Named) => string} make
 */
function remembered(make) {
  /** @type {WeakMap<Named, string>} */
  const known = new WeakMap();
  return (/** @type {Named} */ token) => {
    const text = known.get(token) ?? make(token);
    known.set(token, text);
    return text;
  };
}

/** What a screen reader says for a token: its text, with characters that make no sound named. */
export const spokenToken = remembered((token) => {
  const parts = visibleParts(token.text);
  const plain = parts.filter((p) => p.kind === 'text');
  // A leading space is how most words begin; naming it every time would drown the words.
  const spoken =
    plain.length > 0
      ? parts.map((p, i) => (p.kind === 'text' ? p.name : i === 0 && p.real === ' ' ? '' : ` ${p.name} `)).join('')
      : parts.map((p) => p.name).join(' ');
  const piece = token.piece && token.piece[1] > 1 ? `, byte piece ${token.piece[0] + 1} of ${token.piece[1]}` : '';
  return `${token.special ? 'special token ' : ''}${spoken.trim() || 'no characters'}${piece}`;
});

/** One line for titles, pictures and files: marks in place of what cannot be seen. */
export const shownToken = remembered((token) => {
  const text = visibleParts(token.text)
    .map((p) => p.shown)
    .join('');
  return token.piece && token.piece[1] > 1 ? `${text} ${token.piece[0] + 1}/${token.piece[1]}` : text;
});
