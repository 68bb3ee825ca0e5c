// Owns: orders and summaries of what the model gave: ranks, strongest shares, top lists. May touch: nothing.

/** Statistics of a head, in the order of the atlas' list, with the definition the page prints. */
export const STATISTICS = [
  {
    key: 'previous',
    name: 'previous token',
    definition: 'Mean share on the token just before, over all tokens but the first.',
  },
  {
    key: 'first',
    name: 'first token (sink)',
    definition:
      'Mean share on the very first token, from the fifth token on. Much of it is an attention sink (Xiao et al. 2023): a place to put attention that is not needed.',
  },
  { key: 'self', name: 'self', definition: 'Mean share on the token itself, over all tokens but the first.' },
  {
    key: 'induction',
    name: 'copying (induction)',
    definition:
      'For tokens that stood in the text before: mean of the summed share on what came right after each earlier copy. The token itself does not count as “what came after”.',
  },
  {
    key: 'duplicate',
    name: 'duplicate token',
    definition: 'For tokens that stood in the text before: mean of the summed share on the earlier copies themselves.',
  },
  {
    key: 'entropy',
    name: 'entropy',
    definition:
      'Mean spread of a row, −Σ a·ln a in nats, from the fifth token on: 0 looks at one token only; large looks everywhere.',
  },
];

/**
 * Strongest share of every head in one row, and on which token.
 * @param {ArrayLike<number>} look [heads, keys] @param {number} heads @param {number} keys @param {boolean} aside leave the first token out
 * @returns {{share: Float64Array, key: Int32Array}} [heads]; key -1 where nothing is left
 */
export function strongest(look, heads, keys, aside) {
  const share = new Float64Array(heads);
  const key = new Int32Array(heads).fill(-1);
  for (let h = 0; h < heads; h++) {
    for (let k = aside ? 1 : 0; k < keys; k++) {
      const value = look[h * keys + k];
      if (value > share[h] || key[h] < 0) {
        share[h] = value;
        key[h] = k;
      }
    }
  }
  return { share, key };
}

/** Indices of `values` from largest down; nulls and NaN are left out. @param {ArrayLike<number|null>} values */
export function order(values) {
  const indices = [];
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v !== null && Number.isFinite(v)) indices.push(i);
  }
  return indices.sort((a, b) => Number(values[b]) - Number(values[a]) || a - b);
}

/** Place of one value among all, from 1; null when it has none. @param {ArrayLike<number|null>} values @param {number} index */
export function rankOf(values, index) {
  const own = values[index];
  if (own === null || own === undefined || !Number.isFinite(own)) return null;
  let rank = 1;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v !== null && v > own) rank++;
  }
  return rank;
}

/**
 * Logit, probability over the whole vocabulary and rank (from 1) of one token.
 * @param {Float32Array} logits @param {number} id
 */
export function standing(logits, id) {
  let max = -Infinity;
  for (const v of logits) if (v > max) max = v;
  let total = 0;
  let rank = 1;
  const own = logits[id];
  for (const v of logits) {
    total += Math.exp(v - max);
    if (v > own) rank++;
  }
  return { logit: own, probability: Math.exp(own - max) / total, rank };
}

/**
 * Lens entries by token: each token at the layer where it stood best, best tokens first.
 * @param {{layer: number, top: {id: number, text: string, probability: number}[]}[]} lens
 */
export function bestLayers(lens) {
  /** @type {Map<number, {id: number, text: string, layer: number, rank: number, probability: number}>} */
  const best = new Map();
  for (const { layer, top } of lens) {
    top.forEach((t, rank) => {
      const seen = best.get(t.id);
      if (!seen || t.probability > seen.probability)
        best.set(t.id, { id: t.id, text: t.text, layer, rank: rank + 1, probability: t.probability });
    });
  }
  return [...best.values()].sort((a, b) => b.probability - a.probability);
}

/** Positions whose token stood earlier with something between: where copying can show. @param {number[]} ids */
export function repeats(ids) {
  /** @type {Map<number, number[]>} */
  const seen = new Map();
  /** @type {{position: number, earlier: number[]}[]} */
  const found = [];
  ids.forEach((id, t) => {
    const earlier = (seen.get(id) ?? []).filter((s) => s + 1 < t);
    if (earlier.length) found.push({ position: t, earlier });
    seen.set(id, [...(seen.get(id) ?? []), t]);
  });
  return found;
}
