// Owns: what can be derived from the state. May touch: nothing. Views ask here rather than working it out twice.

/**
 * @typedef {import('./link_state.js').Off} Off
 * @typedef {{id: number, text: string, start: number, end: number, special: boolean, piece?: [number, number]}} Token
 * @typedef {{layers: number, heads: number, headDim: number, vocab: number}} Shape
 *
 * @typedef {object} Run one finished pass
 * @property {number} id
 * @property {string} text
 * @property {Token[]} tokens
 * @property {Off[]} off
 * @property {boolean} stored made by the build, not in this tab
 * @property {number} ms
 * @property {Shape} shape
 * @property {{name: string, sha256: string|null, precision: string}} weights
 *
 * @typedef {object} Load
 * @property {'none'|'loading'|'ready'|'error'} status
 * @property {string} [phase]
 * @property {number} [loaded]
 * @property {number|null} [total]
 * @property {number|null} [rate] bytes a second
 * @property {string} [message]
 * @property {string} [code]
 */

/** @returns {number} tokens of the run shown */
export const tokenCount = (s) => s.run?.tokens.length ?? 0;

/** The head that is shown now: the one under the pointer, else the chosen one; head null means all of them averaged. */
export function shownHead(s) {
  const { layers = 30, heads = 9 } = s.run?.shape ?? {};
  const { layer, head } = s.previewHead ?? s;
  return { layer: Math.min(layer ?? 0, layers - 1), head: head === null ? null : Math.min(head, heads - 1) };
}

/** The token whose row is shown: under the pointer, else pinned, else the last. -1 without a run. */
export function query(s) {
  const n = tokenCount(s);
  return Math.min(s.hover ?? s.token ?? n - 1, n - 1);
}

/** Pinned token, or null; a pin past the end of a shortened text waits there. */
export const pinned = (s) => (s.token !== null && s.token < tokenCount(s) ? s.token : null);

/** Switches that fit the model and the text. @param {Off[]} off @returns {Off[]} */
export function fittingOff(off, shape, n) {
  return off.filter(
    (o) =>
      o.layer < shape.layers &&
      o.head < shape.heads &&
      (o.query === undefined || (o.query < n && Number(o.key) <= o.query && !(o.query === 0 && o.key === 0))),
  );
}

/** @param {Off} a @param {Off} b */
export const sameOff = (a, b) => a.layer === b.layer && a.head === b.head && a.query === b.query && a.key === b.key;

/** Is this whole head off? */
export const headIsOff = (s, layer, head) =>
  s.off.some((o) => o.layer === layer && o.head === head && o.query === undefined);

/** The key of a run's next-token list at the shown position. @param {Run} run */
export const topKey = (run, s) => `${run.id}|${query(s)}`;

/** The token whose probability is followed: the chosen one, else the clean run's first answer; null until that is known. */
export function target(s) {
  if (s.target) return s.target;
  const clean = s.clean ?? s.run;
  if (!clean) return null;
  const top = clean === s.run ? s.data.top : s.data.cleanTop;
  // A list of another text at the same position says nothing here.
  return top?.forKey === topKey(clean, s) && top.list?.length ? { id: top.list[0].id, text: top.list[0].text } : null;
}

/** Is the answer in a slot for what is asked now? Views keep showing the old one until it is. */
export const runKey = (s) => (s.run ? String(s.run.id) : null);

/** Name of a head as the page writes it. */
export const headName = (layer, head) => (head === null ? 'all heads, averaged' : `layer ${layer}, head ${head}`);

export const shortHead = (layer, head) => `L${layer}H${head}`;
