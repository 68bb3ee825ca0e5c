// Owns: which numbers of a pass the page needs for its present state, and keeping them fresh. May touch: store, selectors.
// A resource is asked for by key; an answer that comes back after the key has changed is dropped. At most one request per
// resource is under way, so sweeping the pointer over many words asks for the last one only.

import { shownHead, query, target, topKey } from './selectors.js';
import { standing } from '../view/ranking.js';

const TOP = 20;
const join = (...parts) => parts.join('|');

/** @typedef {{pass: any, clean: any}} Passes the shown run's pass, and the one with nothing off */

/**
 * key: what is needed, null when nothing is; known: it, if what the page has already tells it, else null; read: how to get it.
 * @type {Record<string, {key: (s: any) => string|null, read: (p: Passes, s: any) => Promise<any>, known?: (s: any) => any}>}
 */
export const RESOURCES = {
  pattern: {
    key: (s) => {
      const { layer, head } = shownHead(s);
      return head === null ? join(s.run.id, 'mean') : join(s.run.id, layer, head);
    },
    read: async ({ pass }, s) => {
      const { layer, head } = shownHead(s);
      return {
        n: s.run.tokens.length,
        layer,
        head,
        values: await (head === null ? pass.average() : pass.pattern(layer, head)),
      };
    },
  },
  row: {
    key: (s) => {
      const { layer, head } = shownHead(s);
      return head === null ? null : join(s.run.id, layer, head, query(s));
    },
    read: async ({ pass }, s) => {
      const { layer, head } = shownHead(s);
      return { layer, head, query: query(s), ...(await pass.row(layer, head, query(s))) };
    },
  },
  look: {
    key: (s) => (s.shade === 'word' ? join(s.run.id, query(s)) : null),
    read: async ({ pass }, s) => ({ query: query(s), values: await pass.look(query(s)) }),
  },
  lookedAt: {
    key: (s) => (s.shade === 'seen' ? join(s.run.id, query(s)) : null),
    read: async ({ pass }, s) => ({ query: query(s), values: await pass.lookedAtBy(query(s)) }),
  },
  heads: {
    key: (s) => String(s.run.id),
    read: async ({ pass }) => pass.heads(),
  },
  top: {
    key: (s) => topKey(s.run, s),
    read: async ({ pass }, s) => ({ position: query(s), list: await pass.top(TOP, query(s)) }),
  },
  cleanTop: {
    key: (s) => (s.clean && s.clean !== s.run ? topKey(s.clean, s) : null),
    read: async ({ clean }, s) => ({ position: query(s), list: await clean.top(TOP, query(s)) }),
  },
  // Where the followed token and the listed ones stand, before and after what is switched off.
  standing: {
    key: (s) => {
      if (s.run.stored && s.target) return null;
      const t = target(s);
      return t ? join(s.run.id, s.clean?.id, query(s), t.id) : null;
    },
    // The first answer, followed by itself, stands in the list already: no logits are worked out again for it.
    known: (s) => {
      if (s.target || s.clean !== s.run) return null;
      const { position, list } = s.data.top;
      const { id, text, logit, probability } = list[0];
      return { position, id, text, now: { logit, probability, rank: 1 }, before: null };
    },
    read: async ({ pass, clean }, s) => {
      const position = query(s);
      const { id, text } = /** @type {{id: number, text: string}} */ (target(s));
      const [now, before] = [await pass.logits(position), pass === clean ? null : await clean.logits(position)];
      return { position, id, text, now: standing(now, id), before: before ? standing(before, id) : null };
    },
  },
  written: {
    key: (s) => {
      const { layer, head } = shownHead(s);
      return head === null || s.run.stored ? null : join(s.run.id, layer, head, query(s));
    },
    read: async ({ pass }, s) => {
      const { layer, head } = shownHead(s);
      return { layer, head, query: query(s), values: await pass.written(layer, head, query(s)) };
    },
  },
  products: {
    key: (s) => {
      const { layer, head } = shownHead(s);
      return s.open === null || head === null || s.open > query(s) || s.run.stored
        ? null
        : join(s.run.id, layer, head, query(s), s.open);
    },
    read: async ({ pass }, s) => {
      const { layer, head } = shownHead(s);
      return { layer, head, query: query(s), key: s.open, values: await pass.products(layer, head, query(s), s.open) };
    },
  },
  lens: {
    key: (s) => (s.panels.depth && !s.run.stored && s.hover === null ? join(s.run.id, query(s)) : null),
    read: async ({ pass }, s) => ({ position: query(s), layers: await pass.lens(query(s), 10) }),
  },
  attribution: {
    key: (s) => {
      const t = target(s);
      const wanted = s.panels.writers || s.shade === 'wrote';
      return wanted && t && !s.run.stored && s.hover === null ? join(s.run.id, query(s), t.id) : null;
    },
    read: async ({ pass }, s) => {
      const { id, text } = /** @type {{id: number, text: string}} */ (target(s));
      return { position: query(s), id, text, ...(await pass.attribution(id, query(s), { centred: true })) };
    },
  },
};

/** Answers kept for going back and forth, by bytes, so that one big pattern does not push out all small rows. */
const CACHE_BYTES = 48e6;

/** Long enough for the answers of one tap at a few words, short beside a frame. */
const GATHER_MS = 5;

const sizeOf = (value) => {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (value && typeof value === 'object') return 64 + Object.values(value).reduce((sum, v) => sum + sizeOf(v), 0);
  return 16;
};

/**
 * @param {{state: any, set: (patch: any) => void, subscribe: (f: () => void) => any}} store
 * @param {(s: any) => Passes|null} passesOf
 * @param {(busy: boolean) => void} [onBusy] told whether some number on screen is older than what is asked for
 */
export function keepFresh(store, passesOf, onBusy = () => {}) {
  /** @type {Map<string, {value: any, size: number}>} */
  const cache = new Map();
  let cached = 0;
  /** @type {Map<string, string>} */
  const busy = new Map();

  function remember(key, value) {
    const size = sizeOf(value);
    cache.set(key, { value, size });
    cached += size;
    for (const [old, entry] of cache) {
      if (cached <= CACHE_BYTES || old === key) break;
      cache.delete(old);
      cached -= entry.size;
    }
  }

  const slotOf = (key, value) => ({ forKey: key, ...(Array.isArray(value) ? { list: value } : value) });
  const put = (slots) => store.set({ data: { ...store.state.data, ...slots } });

  /** Answers that come within a few milliseconds are shown together: one layout, not one each. @type {Record<string, any>|null} */
  let gathered = null;
  function gather(name, key, value) {
    if (gathered) {
      gathered[name] = slotOf(key, value);
      return;
    }
    gathered = { [name]: slotOf(key, value) };
    setTimeout(() => {
      const s = store.state;
      const wanted = Object.entries(gathered ?? {}).filter(([n, slot]) => s.run && RESOURCES[n].key(s) === slot.forKey);
      gathered = null;
      if (wanted.length > 0) put(Object.fromEntries(wanted));
      else refresh();
    }, GATHER_MS);
  }

  function refresh() {
    const s = store.state;
    if (!s.run) return onBusy(s.running);
    let pending = s.running;
    /** @type {Record<string, any>} */
    const kept = {};
    for (const [name, { key: keyOf, known, read }] of Object.entries(RESOURCES)) {
      const key = keyOf(s);
      if (key === null || s.data[name]?.forKey === key) continue;
      const told = known?.(s);
      if (told) {
        kept[name] = slotOf(key, told);
        continue;
      }
      pending = true;
      if (gathered?.[name]?.forKey === key) continue;
      const cacheKey = `${name}:${key}`;
      const hit = cache.get(cacheKey);
      if (hit) {
        cache.delete(cacheKey);
        cache.set(cacheKey, hit);
        kept[name] = slotOf(key, hit.value);
        continue;
      }
      if (busy.has(name)) continue;
      const passes = passesOf(s);
      if (!passes) continue;
      busy.set(name, key);
      read(passes, s)
        .then(
          (value) => {
            remember(cacheKey, value);
            const now = store.state;
            if (now.run && keyOf(now) === key) gather(name, key, value);
          },
          (error) => {
            const now = store.state;
            // A pass that was replaced meanwhile is no failure; a stored run says "needs the weights" by having no such number.
            if (now.run && keyOf(now) === key && !['cancelled', 'disposed', 'stored_run'].includes(error?.code)) {
              store.set({ problem: `${error?.message ?? error}` });
            }
            gather(name, key, { failed: error?.code ?? 'internal' });
          },
        )
        .finally(() => {
          busy.delete(name);
          refresh();
        });
    }
    if (Object.keys(kept).length > 0) put(kept);
    onBusy(pending);
  }

  store.subscribe(refresh);
  return {
    refresh,
    /** Answers of a pass that is gone will not be asked for again. */
    forget(runId) {
      for (const [key, entry] of cache) {
        if (key.includes(`:${runId}|`) || key.endsWith(`:${runId}`)) {
          cache.delete(key);
          cached -= entry.size;
        }
      }
    },
  };
}
