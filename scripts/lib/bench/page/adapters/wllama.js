// llama.cpp in WebAssembly. Its completion takes text, so a prompt is text that tokenises to the wanted ids; the count it reports is checked.
import { Wllama } from '../../peers/@wllama/wllama/esm/index.min.js';

const GREEDY = { temperature: 0, top_k: 1, samplers: ['top_k'], cache_prompt: false, ignore_eos: true };
const CONTEXT = 2048;
const TOP = 20;

export async function create({ model, threads }) {
  const wasm = new URL('../../peers/@wllama/wllama/esm/wasm/wllama.wasm', import.meta.url).href;
  const wllama = new Wllama({ default: wasm }, { suppressNativeLog: true });
  await wllama.loadModelFromUrl(new URL(model, location.origin).href, {
    n_threads: threads,
    n_ctx: CONTEXT,
    n_parallel: 1,
    n_gpu_layers: 0,
  });
  return {
    async run({ ids, text }, n) {
      const started = performance.now();
      let first = 0;
      let last = 0;
      let pieces = 0;
      let timings;
      await wllama.createCompletion({
        ...GREEDY,
        prompt: text,
        max_tokens: n + 1,
        stream: true,
        onData(chunk) {
          if (chunk.timings) timings = chunk.timings;
          if (!chunk.choices?.[0] || chunk.choices[0].finish_reason != null) return;
          last = performance.now();
          pieces += 1;
          if (pieces === 1) first = last;
        },
      });
      if (timings && timings.prompt_n !== ids.length)
        throw new Error(`evaluated ${timings.prompt_n} tokens, not ${ids.length}`);
      return { prefillMs: first - started, decodeMs: last - first };
    },
    async logits({ text }) {
      const answer = await wllama.createCompletion({
        ...GREEDY,
        prompt: text,
        max_tokens: 1,
        logprobs: TOP,
        n_probs: TOP,
      });
      const entries = answer.choices[0].logprobs.content[0].top_logprobs;
      return { ids: entries.map((entry) => entry.id), logProbabilities: entries.map((entry) => entry.logprob) };
    },
    describe: () => ({
      variant: wllama.isMultithread() ? 'multi-thread' : 'single-thread',
      threads: wllama.getNumThreads?.() ?? threads,
      version: Wllama.getLibllamaVersion(),
    }),
    dispose: () => wllama.exit(),
  };
}
