// Which living pass a new one begins from, by what is left to compute: pure functions of tokens and switches.
// Owns: the choice. May touch: nothing. Start reading at: bestStart.

/**
 * A pass that could be begun from, or is wanted.
 * @typedef {{ids: Int32Array, off: Int32Array, keep: string}} Tokens   off: quadruples [layer, head, query | -1, key | -1]
 */

/**
 * The pass from which the wanted one takes the least work, or null where none helps. `prefix` goes on behind its first `length`
 * tokens, of which the last is always left to run, since a pass must append. `switched` takes over all tokens below the first layer
 * where something else is off.
 * @template {Tokens} Entry
 * @param {Tokens} wanted
 * @param {Iterable<Entry>} entries
 * @param {number} layers
 * @returns {{entry: Entry, how: 'prefix' | 'switched', length: number} | null}
 */
export function bestStart(wanted, entries, layers) {
  const count = wanted.ids.length;
  /** @type {ReturnType<typeof bestStart<Entry>>} */
  let best = null;
  let least = count * layers;
  for (const entry of entries) {
    if (entry.keep !== wanted.keep) continue;
    const shared = sharedLength(entry.ids, wanted.ids);
    const layer = firstDifference(entry.off, wanted.off, layers);
    const same = layer === layers;
    const length = same ? Math.min(shared, count - 1) : shared;
    const usable = same || (shared === count && wanted.keep === 'rows');
    const work = same ? (count - length) * layers : count * (layers - layer);
    if (usable && work < least) {
      best = { entry, how: same ? 'prefix' : 'switched', length };
      least = work;
    }
  }
  return best;
}

/**
 * @param {Int32Array} a
 * @param {Int32Array} b
 */
function sharedLength(a, b) {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

/**
 * The lowest layer where something is off in one list and not in the other; `layers` where there is none.
 * @param {Int32Array} a
 * @param {Int32Array} b
 * @param {number} layers
 */
export function firstDifference(a, b, layers) {
  const [ofA, ofB] = [quadruples(a), quadruples(b)];
  const layerOf = (/** @type {string} */ quadruple) => Number.parseInt(quadruple, 10);
  const lone = [...[...ofA].filter((one) => !ofB.has(one)), ...[...ofB].filter((one) => !ofA.has(one))];
  return Math.min(layers, ...lone.map(layerOf));
}

/** @param {Int32Array} off */
function quadruples(off) {
  return new Set(Array.from({ length: off.length / 4 }, (_, index) => off.slice(4 * index, 4 * index + 4).join()));
}
