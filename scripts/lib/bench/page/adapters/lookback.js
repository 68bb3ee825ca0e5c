// Lookback itself, through its public package and bundled as a consumer would; prepare.mjs says which folder is the package.
import { loadModel } from 'lookback-package';

export async function create({ model: address, threads, variant, precision }) {
  const model = await loadModel(new URL(address, location.origin), { threads, variant, precision });
  return {
    async run({ ids }, n) {
      const started = performance.now();
      if (n === 0) {
        const pass = await model.forward(ids, { keep: 'none' });
        await pass.logits();
        const prefillMs = performance.now() - started;
        await pass.dispose();
        return { prefillMs, decodeMs: 0 };
      }
      // The prompt itself gives the first token; each of the n after it costs one step.
      const written = [];
      const passes = [];
      let first = 0;
      for await (const { id, pass } of model.generate(ids, { maxTokens: n + 1 })) {
        if (!first) first = performance.now();
        written.push(id);
        passes.push(pass);
      }
      const decodeMs = performance.now() - first;
      // A living pass is memory, and what a later prompt shares with it would not be run again.
      for (const pass of passes) await pass.dispose();
      return { prefillMs: first - started, decodeMs, ids: written.slice(1) };
    },
    async attention({ ids }) {
      const started = performance.now();
      const pass = await model.forward(ids);
      let sum = 0;
      for (let query = 0; query < ids.length; query++) for (const share of await pass.look(query)) sum += share;
      const ms = performance.now() - started;
      await pass.dispose();
      const rows = model.info.layers * model.info.heads * ids.length;
      if (Math.abs(sum - rows) > 1e-3 * rows) throw new Error(`shares of ${rows} rows sum to ${sum}`);
      return ms;
    },
    async logits({ ids }) {
      const pass = await model.forward(ids, { keep: 'none' });
      const logits = Array.from(await pass.logits());
      await pass.dispose();
      return { logits };
    },
    describe: () => ({ variant: model.info.variant, threads: model.info.threads, version: null }),
    dispose: () => model.dispose(),
  };
}
