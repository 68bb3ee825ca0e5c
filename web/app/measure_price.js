// Owns: what attention costs: the count of scores, and measured time against length. Touches the model through its public verbs only.

/** Scores of one head in one layer for n tokens, each looking at itself and all before. @param {number} n */
export const scores = (n) => (n * (n + 1)) / 2;

/** Bytes kept for one token, from the shape alone: f32 keys and values of every layer, and queries where rows are to be read. */
export function bytesPerToken({ layers, heads, kvHeads, headDim }) {
  return { kv: layers * kvHeads * headDim * 2 * 4, queries: layers * heads * headDim * 4 };
}

export const LENGTHS = [8, 16, 32, 64, 128, 256, 512];
/** No single measurement may take longer than this; the curve then ends where it is. */
const PATIENCE_MS = 8000;
const REPEATS = 3;

/** Tokens that are no text: each length begins with another one, so that nothing kept from an earlier run fits. */
function idsOf(n, salt, vocab) {
  const ids = new Array(n + 1);
  let x = (salt * 7919 + 17) % 2147483647;
  for (let i = 0; i <= n; i++) {
    x = (x * 48271) % 2147483647;
    // The first tokens of a vocabulary are special ones; they are left out where there is room.
    ids[i] = vocab > 1000 ? 300 + (x % (vocab - 300)) : x % vocab;
  }
  return ids;
}

const middle = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/**
 * Milliseconds of n tokens from nothing, and of one more token when the n are kept; medians.
 * @param {any} model @param {{signal: AbortSignal}} options
 * @returns {AsyncGenerator<{n: number, fresh: number, next: number}>}
 */
export async function* measurePrice(model, { signal }) {
  const { vocab, contextLength } = model.info;
  let salt = 1;
  for (const n of LENGTHS) {
    if (n + 1 > contextLength) return;
    const fresh = [];
    const next = [];
    for (let i = 0; i < REPEATS; i++) {
      const ids = idsOf(n, salt++, vocab);
      const from = performance.now();
      const pass = await model.forward(ids.slice(0, n), { signal });
      const between = performance.now();
      const longer = await model.forward(ids, { signal });
      next.push(performance.now() - between);
      fresh.push(between - from);
      pass.dispose();
      longer.dispose();
      if (signal.aborted) return;
      if (between - from > PATIENCE_MS / 4) break;
    }
    yield { n, fresh: middle(fresh), next: middle(next) };
    if (fresh[0] > PATIENCE_MS) return;
  }
}
