// Byte-pair encoding: a word's characters joined pair by pair, most important merge first, as far as merges go.
// Owns: the ranks of merges. May touch: nothing. Start reading at: BytePairs.split.

/** Words whose pieces are remembered. */
const MOST_REMEMBERED = 10000;
/** Longer ones are rare and come once. */
const LONGEST_REMEMBERED = 64;

export class BytePairs {
  /** @type {Map<string, number>} 'LEFT RIGHT' → rank; no token holds a space in byte-level spelling */
  #ranks;
  /** @type {Map<string, string[]>} */
  #remembered = new Map();

  /** @param {string[]} merges   'LEFT RIGHT', most important first */
  constructor(merges) {
    this.#ranks = new Map();
    // Where one stands twice, the later place counts, as in the reference.
    for (let rank = 0; rank < merges.length; rank++) this.#ranks.set(merges[rank], rank);
  }

  /**
   * @param {string} word   in byte-level spelling
   * @returns {string[]}
   */
  split(word) {
    const known = this.#remembered.get(word);
    if (known) return known;
    const pieces = this.#merged(word);
    if (word.length <= LONGEST_REMEMBERED) {
      if (this.#remembered.size === MOST_REMEMBERED) this.#remembered.clear();
      this.#remembered.set(word, pieces);
    }
    return pieces;
  }

  /** @param {string} word */
  #merged(word) {
    const pieces = Array.from(word);
    const count = pieces.length;
    if (count < 2) return pieces;
    // A chain: a piece that was joined to its left neighbour is null. Of equal ranks the leftmost goes first.
    const next = pieces.map((_, at) => at + 1);
    const previous = pieces.map((_, at) => at - 1);
    const heap = new Heap();
    const offer = (/** @type {number} */ at) => {
      if (at < 0 || next[at] >= count) return;
      const rank = this.#ranks.get(`${pieces[at]} ${pieces[next[at]]}`);
      if (rank !== undefined) heap.push(rank * count + at);
    };
    for (let at = 0; at < count - 1; at++) offer(at);
    while (heap.size > 0) {
      const best = heap.pop();
      const left = best % count;
      const right = next[left];
      // What was offered may have been joined to something else since.
      if (pieces[left] === null || right >= count) continue;
      if (this.#ranks.get(`${pieces[left]} ${pieces[right]}`) !== (best - left) / count) continue;
      pieces[left] += pieces[right];
      pieces[right] = null;
      next[left] = next[right];
      if (next[left] < count) previous[next[left]] = left;
      offer(left);
      offer(previous[left]);
    }
    return pieces.filter((piece) => piece !== null);
  }
}

/** Numbers, least first. */
class Heap {
  /** @type {number[]} */
  #items = [];

  get size() {
    return this.#items.length;
  }

  /** @param {number} item */
  push(item) {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (items[above] <= item) break;
      items[at] = items[above];
      at = above;
    }
    items[at] = item;
  }

  pop() {
    const items = this.#items;
    const least = items[0];
    const last = items.pop();
    if (items.length > 0) {
      let at = 0;
      for (;;) {
        let below = 2 * at + 1;
        if (below >= items.length) break;
        if (below + 1 < items.length && items[below + 1] < items[below]) below++;
        if (items[below] >= last) break;
        items[at] = items[below];
        at = below;
      }
      items[at] = last;
    }
    return least;
  }
}
