// Owns: the form of a run that the build made with this very engine, and reading from it as from a pass. May touch: nothing.
// Kept are the scaled scores of every head as f32, so that every share on the page follows from them exactly as it does live.

export const STORED_RUN_VERSION = 1;

/** Scores of one query stand after those of the queries before it. */
const rowStart = (query) => (query * (query + 1)) / 2;

/** @param {Float32Array} floats @returns {string} base64 of little-endian bytes */
export function packFloats(floats) {
  const bytes = new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
  let text = '';
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}

/** @param {string} text @returns {Float32Array} */
export function unpackFloats(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

/**
 * Reads everything a stored run holds out of a live pass.
 * @param {any} model @param {string} text @param {{name: string, topK?: number}} options
 */
export async function makeStoredRun(model, text, { name, topK = 20 }) {
  const pass = await model.forward(text);
  const { layers, heads, headDim, vocab, precision, weights } = model.info;
  const n = pass.length;
  const scaled = new Float32Array(layers * heads * rowStart(n));
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      for (let query = 0; query < n; query++) {
        const row = await pass.row(layer, head, query);
        scaled.set(row.scaled, (layer * heads + head) * rowStart(n) + rowStart(query));
      }
    }
  }
  const top = [];
  for (let position = 0; position < n; position++) top.push(await pass.top(topK, position));
  const run = {
    version: STORED_RUN_VERSION,
    name,
    text,
    shape: { layers, heads, headDim, vocab },
    weights: {
      name: String(weights.source ?? '')
        .split('/')
        .pop(),
      sha256: weights.sha256,
      precision,
    },
    tokens: pass.tokens.map(({ id, text, start, end, special, piece }) => ({
      id,
      text,
      start,
      end,
      special,
      ...(piece ? { piece } : {}),
    })),
    top: top.map((list) => list.map(({ id, text, logit, probability }) => ({ id, text, logit, probability }))),
    heads: await pass.heads(),
    scaled: packFloats(scaled),
  };
  await pass.dispose();
  return run;
}

const missing = (what) =>
  Promise.reject(
    Object.assign(new Error(`${what} is not part of a stored run; it comes with the weights`), { code: 'stored_run' }),
  );

/** The readable side of a stored run: the verbs of a pass that need no weights. */
export class StoredPass {
  constructor(json) {
    this.json = json;
    this.tokens = json.tokens;
    this.length = json.tokens.length;
    this.scaled = unpackFloats(json.scaled);
  }

  shares(layer, head, query) {
    const { heads } = this.json.shape;
    const from = (layer * heads + head) * rowStart(this.length) + rowStart(query);
    const scaled = this.scaled.slice(from, from + query + 1);
    let max = -Infinity;
    for (const v of scaled) if (v > max) max = v;
    const share = new Float32Array(query + 1);
    let sum = 0;
    for (let k = 0; k <= query; k++) sum += Math.exp(scaled[k] - max);
    for (let k = 0; k <= query; k++) share[k] = Math.exp(scaled[k] - max) / sum;
    return { scaled, share };
  }

  async row(layer, head, query) {
    const { scaled, share } = this.shares(layer, head, query);
    const root = Math.sqrt(this.json.shape.headDim);
    return { qk: scaled.map((v) => v * root), scaled, share };
  }

  async look(query) {
    const { layers, heads } = this.json.shape;
    const out = new Float32Array(layers * heads * (query + 1));
    for (let i = 0; i < layers * heads; i++)
      out.set(this.shares(Math.floor(i / heads), i % heads, query).share, i * (query + 1));
    return out;
  }

  async lookedAtBy(key) {
    const { layers, heads } = this.json.shape;
    const out = new Float32Array(layers * heads * this.length);
    for (let i = 0; i < layers * heads; i++) {
      for (let q = key; q < this.length; q++)
        out[i * this.length + q] = this.shares(Math.floor(i / heads), i % heads, q).share[key];
    }
    return out;
  }

  async pattern(layer, head) {
    const out = new Float32Array(this.length ** 2);
    for (let q = 0; q < this.length; q++) out.set(this.shares(layer, head, q).share, q * this.length);
    return out;
  }

  async average() {
    const { layers, heads } = this.json.shape;
    const sum = new Float64Array(this.length ** 2);
    for (let i = 0; i < layers * heads; i++) {
      const one = await this.pattern(Math.floor(i / heads), i % heads);
      for (let j = 0; j < sum.length; j++) sum[j] += one[j];
    }
    return Float32Array.from(sum, (v) => v / (layers * heads));
  }

  async heads() {
    return this.json.heads;
  }

  async top(k, position = this.length - 1) {
    return this.json.top[position].slice(0, k);
  }

  logits() {
    return missing('the full list of logits');
  }
  written() {
    return missing('what is written');
  }
  products() {
    return missing('a row of products');
  }
  lens() {
    return missing('the view by depth');
  }
  attribution() {
    return missing('who wrote the answer');
  }
  async *effects() {
    await missing('the effect of each head');
  }
  async dispose() {}
}
