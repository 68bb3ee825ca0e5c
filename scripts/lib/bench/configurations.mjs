// What is run: one configuration a line of the report. Lookback in both builds and precisions, peers as their users would run them.

export const PEERS = ['wllama', 'ort', 'llama.cpp'];
export const PREFILL = [14, 128, 512];
export const DECODE = { after: 128, tokens: 64 };
export const ATTENTION = 64;
/** How speed falls as the prompt grows; of Lookback alone, since slow peers would need minutes. */
export const CURVE = [128, 512, 2048];
export const CURVE_TOKENS = 16;
const GGUF = '/models/weights.gguf';

/**
 * @typedef {object} Configuration
 * @property {'lookback'|'wllama'|'ort'|'llama.cpp'} runtime
 * @property {string} variant asked for; the report has what the runtime says of itself
 * @property {string} precision
 * @property {number} threads
 * @property {boolean} isolated whether the page is cross-origin isolated, without which there are no threads
 * @property {string} [model] address
 * @property {string} [attentionModel] another model, if attention needs one
 * @property {boolean} [attention] whether the runtime gives attention at all
 * @property {number[]} [curve] lengths at which the curve is measured, none by default
 */

/**
 * @param {{against: string[], threads: number[]}} options
 * @returns {Configuration[]}
 */
export function configurations({ against, threads }) {
  const runs = [];
  for (const count of threads) {
    for (const variant of ['simd128', 'relaxed'])
      for (const precision of ['exact', 'fast'])
        runs.push({
          runtime: 'lookback',
          variant,
          precision,
          threads: count,
          isolated: true,
          model: GGUF,
          attention: true,
          curve: CURVE,
        });
    if (against.includes('wllama'))
      runs.push({ runtime: 'wllama', variant: '', precision: 'Q4_1', threads: count, isolated: true, model: GGUF });
    if (against.includes('ort')) {
      const ort = { runtime: 'ort', variant: '', threads: count, isolated: true };
      runs.push({
        ...ort,
        precision: 'f32',
        model: '/models/onnx/f32.onnx',
        attentionModel: '/models/onnx/attention.onnx',
      });
      runs.push({ ...ort, precision: 'int8', model: '/models/onnx/int8.onnx' });
    }
    if (against.includes('llama.cpp'))
      runs.push({ runtime: 'llama.cpp', variant: 'native', precision: 'Q4_1', threads: count, isolated: null });
  }
  // A host that sends no isolation headers: one thread.
  runs.push({
    runtime: 'lookback',
    variant: 'relaxed',
    precision: 'exact',
    threads: 1,
    isolated: false,
    model: GGUF,
    attention: true,
  });
  return runs;
}

export const nameOf = ({ runtime, variant, precision, threads, isolated }) =>
  [
    runtime,
    variant,
    precision,
    `${threads} thread${threads === 1 ? '' : 's'}`,
    isolated === false ? 'not isolated' : '',
  ]
    .filter(Boolean)
    .join(' ');
