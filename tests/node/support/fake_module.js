// A module with the engine's border and no network behind it: 2 layers of 2 heads, the tiny files' vocabulary, logits made from ids.
// What a test wants to go wrong goes wrong at the named call.
import { ggufTokenizer } from './gguf_tokenizer.js';
import { referencePath } from './data.js';

export const FAKE = {
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 4,
  hidden: 8,
  feedForward: 16,
  vocab: 300,
  contextLength: 64,
};

const ok = (value) => ({ ok: true, value });
const refuse = (code, message) => ({ ok: false, code, message });

/**
 * @param {{traps?: (call: string, count: number) => boolean, fails?: Record<string, [string, string]>, stepMs?: number, format?: string}} [options]
 */
export async function createFakeModule({ traps = () => false, fails = {}, stepMs = 0, format = 'gguf' } = {}) {
  const tokenizerData = await ggufTokenizer(referencePath('tiny/tiny-F32.gguf'));
  const counts = { engines: 0, passes: 0, livePasses: 0, steps: 0, bytes: 0, deleted: 0 };
  const calls = new Map();
  const call = (name) => {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    if (traps(name, calls.get(name))) throw new WebAssembly.RuntimeError('unreachable');
    return fails[name] ? refuse(...fails[name]) : null;
  };

  class FakePass {
    ids = [];
    queued = 0;
    deleted = false;
    constructor(options) {
      counts.passes++;
      counts.livePasses++;
      this.off = options.off;
      if (options.prefix) this.ids = options.prefix.ids.slice(0, options.prefixLength);
    }
    #logits(position) {
      // Depends on every id up to the position, and on what is off.
      const seed = this.ids
        .slice(0, position + 1)
        .reduce((sum, id, index) => (sum * 31 + id * (index + 1)) % 65521, this.off.length + 1);
      return Float32Array.from({ length: FAKE.vocab }, (_, id) => ((seed * (id + 7)) % 997) / 100);
    }
    begin(ids) {
      const failed = call('begin');
      if (failed) return failed;
      this.ids.push(...ids);
      this.queued = ids.length;
      return ok({});
    }
    step() {
      const failed = call('step');
      if (failed) return failed;
      counts.steps++;
      const until = performance.now() + stepMs;
      while (performance.now() < until);
      this.queued = Math.max(0, this.queued - 1);
      return ok({ done: this.queued === 0, length: this.ids.length - this.queued });
    }
    logits(position) {
      return call('logits') ?? ok(this.#logits(position));
    }
    top(k, position) {
      const logits = this.#logits(position);
      const ids = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b).slice(0, k);
      const total = logits.reduce((sum, value) => sum + Math.exp(value), 0);
      return ok({
        ids: Int32Array.from(ids),
        logits: Float32Array.from(ids, (id) => logits[id]),
        probabilities: Float32Array.from(ids, (id) => Math.exp(logits[id]) / total),
      });
    }
    row(layer, head, query) {
      const share = new Float32Array(query + 1).fill(1 / (query + 1));
      return call('row') ?? ok({ qk: share.slice(), scaled: share.slice(), share });
    }
    heads() {
      const flat = new Float32Array(FAKE.layers * FAKE.heads * 6).fill(0.5);
      flat[3] = NaN;
      return ok(flat);
    }
    effects() {
      let layer = 0;
      return ok({
        step: () => {
          const rows = Float32Array.from([layer, 0, 0.25, 0.5, layer, 1, 0.75, 1.5]);
          return ok({ done: ++layer === FAKE.layers, rows });
        },
        delete: () => counts.deleted++,
      });
    }
    delete() {
      if (this.deleted) throw new Error('deleted twice');
      this.deleted = true;
      counts.livePasses--;
    }
  }

  const createEngine = (options) => {
    const failed = call('createEngine');
    if (failed) return failed;
    counts.engines++;
    counts.bytes = 0;
    let room;
    return ok({
      beginFile: () => call('beginFile') ?? ok({}),
      chunk: (n) => ok((room = new Uint8Array(n))),
      commit: (n) => {
        counts.bytes += n;
        return call('commit') ?? ok({ headerComplete: room.length > 0 });
      },
      endFile: () => call('endFile') ?? ok({ externalFiles: [] }),
      setConfig: () => ok({}),
      directory: () => ok({ format, architecture: 'llama', config: {}, tensors: [], tokenizer: null }),
      tokenizerData: () => ok(tokenizerData),
      open: () =>
        call('open') ??
        ok({
          ...FAKE,
          architecture: 'llama',
          parameters: 1,
          weightBytes: counts.bytes,
          dtypes: ['F32'],
          tied: true,
          ropeBase: 10000,
          rmsEps: 1e-5,
          variant: 'fake',
          threads: options.threads,
          precision: options.precision,
        }),
      memory: () => ok({ heapBytes: 1 << 20 }),
      createPass: (passOptions) => call('createPass') ?? ok(new FakePass(passOptions)),
      delete: () => {
        counts.engines--;
      },
    });
  };
  return { module: { createEngine }, counts };
}
