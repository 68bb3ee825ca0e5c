// Owns: which tokens make one word, and what a word's shares are. May touch: nothing. Start at wordGroups.

/** @typedef {{start: number, end: number}} Group tokens start…end-1 */

const LETTER = /[\p{L}\p{M}\p{N}]/u;
// Scripts written without spaces between words: a token there is as near to a word as the text tells.
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const APOSTROPHE = /^['’]\p{L}/u;

/** Does `token` continue the word that `before` ends? */
function continues(before, token) {
  if (token.piece && token.piece[0] > 0) return true;
  if (token.special || before.special || token.text === '' || before.text === '') return false;
  const [first] = token.text;
  const last = [...before.text].pop() ?? '';
  if (!LETTER.test(last)) return false;
  if (APOSTROPHE.test(token.text)) return true;
  return LETTER.test(first) && !UNSPACED.test(first) && !UNSPACED.test(last);
}

/**
 * @param {{text: string, special?: boolean, piece?: [number, number]}[]} tokens
 * @returns {Group[]} in order, covering every token once
 */
export function wordGroups(tokens) {
  /** @type {Group[]} */
  const groups = [];
  tokens.forEach((token, i) => {
    const group = groups[groups.length - 1];
    if (group && continues(tokens[i - 1], token)) group.end = i + 1;
    else groups.push({ start: i, end: i + 1 });
  });
  return groups;
}

/** The group that holds a token. @param {Group[]} groups @param {number} index */
export function groupOf(groups, index) {
  return groups.findIndex((g) => index >= g.start && index < g.end);
}

/**
 * Shares between words: the sum over the tokens looked at, the mean over the tokens that look (Clark et al. 2019).
 * @param {ArrayLike<number>} pattern [n, n] @param {number} n @param {Group[]} groups
 * @returns {Float64Array} [groups, groups]
 */
export function groupPattern(pattern, n, groups) {
  const g = groups.length;
  const out = new Float64Array(g * g);
  for (let a = 0; a < g; a++) {
    for (let b = 0; b <= a; b++) {
      let sum = 0;
      for (let q = groups[a].start; q < groups[a].end; q++) {
        for (let k = groups[b].start; k < groups[b].end; k++) sum += pattern[q * n + k];
      }
      out[a * g + b] = sum / (groups[a].end - groups[a].start);
    }
  }
  return out;
}
