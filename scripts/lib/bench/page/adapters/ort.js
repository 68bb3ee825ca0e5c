// onnxruntime-web, WebAssembly only, on the models that make_onnx.py writes.
import * as ort from '../../peers/onnxruntime-web/dist/ort.wasm.min.mjs';

const KV_HEADS = 3;
const HEAD_DIM = 64;

export async function create({ model, threads }) {
  ort.env.wasm.wasmPaths = new URL('../../peers/onnxruntime-web/dist/', import.meta.url).href;
  ort.env.wasm.numThreads = threads;
  const bytes = new Uint8Array(await (await fetch(new URL(model, location.origin))).arrayBuffer());
  const session = await ort.InferenceSession.create(bytes, {
    executionProviders: ['wasm'],
    graphOptimizationLevel: 'all',
  });
  const past = session.inputNames.filter((name) => name.startsWith('past.'));
  const empty = () =>
    Object.fromEntries(
      past.map((name) => [name, new ort.Tensor('float32', new Float32Array(0), [1, KV_HEADS, 0, HEAD_DIM])]),
    );
  const integers = (values, shape) => new ort.Tensor('int64', BigInt64Array.from(values, BigInt), shape);

  /** ids after `before` cached positions; the answer holds logits and the cache so far */
  const step = (ids, before, cache) =>
    session.run({ ...cache, input_ids: integers(ids, [1, ids.length]), total: integers([before + ids.length], [1]) });
  const kept = (outputs) => Object.fromEntries(past.map((name) => [name, outputs[name.replace('past', 'present')]]));
  const best = ({ logits: { data } }) => {
    let at = 0;
    for (let i = 1; i < data.length; i++) if (data[i] > data[at]) at = i;
    return at;
  };

  return {
    async run({ ids }, n) {
      const started = performance.now();
      let outputs = await step(ids, 0, empty());
      let next = best(outputs);
      const prefilled = performance.now();
      const written = [];
      for (let i = 0; i < n; i++) {
        written.push(next);
        outputs = await step([next], ids.length + i, kept(outputs));
        next = best(outputs);
      }
      return { prefillMs: prefilled - started, decodeMs: performance.now() - prefilled, ids: written };
    },
    async attention({ ids }) {
      const started = performance.now();
      const outputs = await session.run({ input_ids: integers(ids, [1, ids.length]) });
      let sum = 0;
      let rows = 0;
      for (const name of session.outputNames.filter((output) => output.startsWith('attentions.'))) {
        const { data, dims } = outputs[name];
        for (let i = 0; i < data.length; i++) sum += data[i];
        rows += dims[1] * dims[2];
      }
      const ms = performance.now() - started;
      if (Math.abs(sum - rows) > 1e-3 * rows) throw new Error(`shares of ${rows} rows sum to ${sum}`);
      return ms;
    },
    async logits({ ids }) {
      return { logits: Array.from((await step(ids, 0, empty())).logits.data) };
    },
    describe: () => ({ variant: 'wasm', threads: ort.env.wasm.numThreads, version: ort.env.versions.web ?? null }),
    dispose: () => session.release(),
  };
}
