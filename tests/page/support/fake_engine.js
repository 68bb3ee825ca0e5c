// A stand-in for web/engine/index.js while the page's layout is worked on: same shapes, deterministic made-up numbers.
// Never shipped; served in place of the engine by `node tests/page/support/preview.mjs --fake`.

const LAYERS = 30;
const HEADS = 9;
const VOCAB = 49152;

export class LookbackError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'LookbackError';
    this.code = code;
  }
}

const noise = (...keys) => {
  let h = 2166136261;
  for (const k of keys) {
    h ^= k + 0x9e3779b9;
    h = Math.imul(h, 16777619);
    h ^= h >>> 13;
  }
  h = Math.imul(h ^ (h >>> 16), 0x45d9f3b);
  return ((h ^ (h >>> 15)) >>> 0) / 2 ** 32;
};
const wait = (ms) => new Promise((r) => setTimeout(r, ms));

function tokenize(text) {
  const tokens = [];
  for (const m of text.matchAll(/<\|\w+\|>| ?\p{L}+| ?\p{N}|\n+|\t| +(?= )|[\s\S]/gu)) {
    const bytes = new TextEncoder().encode(m[0]);
    const id = [...m[0]].reduce((a, c) => (a * 31 + c.codePointAt(0)) % VOCAB, 7);
    const at = { start: m.index, end: m.index + m[0].length, special: m[0].startsWith('<|') };
    if (bytes.length > 2 && [...m[0]].length === 1) {
      bytes.forEach((b, i) =>
        tokens.push({ id: id + i, text: m[0], bytes: bytes.slice(i, i + 1), ...at, piece: [i, bytes.length] }),
      );
    } else tokens.push({ id, text: m[0], bytes, ...at });
  }
  return tokens;
}

const WORD = [
  ' cloud',
  '\n',
  ' the',
  ' seven',
  ',',
  ' orange',
  '.',
  ' a',
  '\n\n',
  ' “',
  ' violet',
  '  ',
  ' engine',
  ' ladder',
  ' piano',
];

class Pass {
  constructor(tokens, off) {
    this.tokens = tokens;
    this.length = tokens.length;
    this.off = off;
  }
  score(l, h, q, k) {
    const same = this.tokens[k - 1]?.id === this.tokens[q].id && k - 1 < q ? 60 : 0;
    const copying = l >= 15 && noise(l, h, 5) > 0.8 ? same : 0;
    return (
      (noise(l, h, q, k) - 0.5) * 90 +
      (k === 0 ? 40 * noise(l, h, 1) : 0) +
      (k === q - 1 ? 70 * (noise(l, h, 2) > 0.9) : 0) +
      copying
    );
  }
  async row(l, h, q) {
    const qk = Float32Array.from({ length: q + 1 }, (_, k) => this.score(l, h, q, k));
    const scaled = qk.map((v) => v / 8);
    const max = Math.max(...scaled);
    const e = scaled.map((v) => Math.exp(v - max));
    const sum = e.reduce((a, b) => a + b, 0);
    return { qk, scaled, share: e.map((v) => v / sum) };
  }
  async look(q) {
    const out = new Float32Array(LAYERS * HEADS * (q + 1));
    for (let l = 0; l < LAYERS; l++)
      for (let h = 0; h < HEADS; h++) out.set((await this.row(l, h, q)).share, (l * HEADS + h) * (q + 1));
    return out;
  }
  async lookedAtBy(key) {
    const out = new Float32Array(LAYERS * HEADS * this.length);
    for (let i = 0; i < LAYERS * HEADS; i++) {
      for (let q = key; q < this.length; q++)
        out[i * this.length + q] = (await this.row(Math.floor(i / HEADS), i % HEADS, q)).share[key];
    }
    return out;
  }
  async pattern(l, h) {
    const n = this.length;
    const out = new Float32Array(n * n);
    for (let q = 0; q < n; q++) out.set((await this.row(l, h, q)).share, q * n);
    return out;
  }
  average() {
    return this.pattern(3, 3);
  }
  async products(l, h, q, k) {
    const p = Float32Array.from({ length: 64 }, (_, i) => noise(l, h, q, k, i) - 0.5);
    const off = (this.score(l, h, q, k) - p.reduce((a, b) => a + b, 0)) / 64;
    return p.map((v) => v + off);
  }
  async written(l, h, q) {
    const { share } = await this.row(l, h, q);
    return share.map((v, k) => v * (k === 0 ? 3 : 20 + 8 * noise(l, h, k)));
  }
  async heads() {
    return Array.from({ length: LAYERS * HEADS }, (_, i) => ({
      layer: Math.floor(i / HEADS),
      head: i % HEADS,
      previous: noise(i, 1) ** 6,
      first: noise(i, 2),
      self: noise(i, 3) ** 4,
      induction: noise(i, 4) ** 8,
      duplicate: noise(i, 5) ** 8,
      entropy: noise(i, 6) * 2.3,
    }));
  }
  async logits(position = this.length - 1) {
    const out = Float32Array.from({ length: VOCAB }, (_, i) => noise(i, position) * 4);
    WORD.forEach((_, i) => (out[1000 + i] = 16 - i * 0.9 + noise(position, i, this.off.length)));
    return out;
  }
  async top(k, position = this.length - 1) {
    const logits = await this.logits(position);
    let total = 0;
    for (const v of logits) total += Math.exp(v);
    const ids = [...logits.keys()].sort((a, b) => logits[b] - logits[a]).slice(0, k);
    return ids.map((id) => ({
      id,
      text: WORD[id - 1000] ?? ` w${id}`,
      logit: logits[id],
      probability: Math.exp(logits[id]) / total,
    }));
  }
  async lens(position, k = 5) {
    const top = await this.top(12, position);
    return Array.from({ length: LAYERS + 1 }, (_, layer) => ({
      layer,
      top: top
        .map((t, i) => ({ ...t, probability: t.probability * noise(layer, i) * (layer / 30) }))
        .sort((a, b) => b.probability - a.probability)
        .slice(0, k),
    }));
  }
  async attribution() {
    const heads = Float32Array.from({ length: LAYERS * HEADS }, (_, i) => (noise(i, 9) - 0.5) ** 5 * 60);
    const mlps = Float32Array.from({ length: LAYERS }, (_, i) => (noise(i, 10) - 0.4) * 2);
    return { embedding: 0.4, heads, mlps, logit: [...heads, ...mlps].reduce((a, b) => a + b, 0.4) };
  }
  async *effects(id, position, { signal } = {}) {
    for (let i = 0; i < LAYERS * HEADS; i++) {
      if (i % 9 === 0) await wait(30);
      if (signal?.aborted) throw new LookbackError('cancelled', 'cancelled');
      yield {
        layer: Math.floor(i / HEADS),
        head: i % HEADS,
        probability: 0.3 + (noise(i, 11) - 0.5) ** 3,
        kl: noise(i, 12) ** 5,
      };
    }
  }
  async dispose() {}
}

class Model {
  info = {
    architecture: 'llama',
    layers: LAYERS,
    heads: HEADS,
    kvHeads: 3,
    headDim: 64,
    hidden: 576,
    feedForward: 1536,
    vocab: VOCAB,
    contextLength: 8192,
    parameters: 134515008,
    weights: { format: 'gguf', dtypes: ['Q8_0', 'Q4_1', 'F32'], sha256: 'fa'.repeat(32), bytes: 98362432 },
    precision: 'exact',
    threads: 1,
    threadsReason: 'made-up numbers',
    variant: 'fake',
    memoryBytes: 131e6,
  };
  async tokenize(text) {
    return tokenize(text);
  }
  async detokenize() {
    return '';
  }
  async forward(text, { off = [], signal } = {}) {
    await wait(15);
    if (signal?.aborted) throw new LookbackError('cancelled', 'cancelled');
    const tokens =
      typeof text === 'string'
        ? tokenize(text)
        : Array.from(text, (id) => ({ id, text: ` w${id}`, start: 0, end: 0, special: false }));
    if (!tokens.length) throw new LookbackError('empty_prompt', 'empty');
    return new Pass(tokens, off);
  }
  async *generate(text, { maxTokens = 10 } = {}) {
    let now = text;
    for (let i = 0; i < maxTokens; i++) {
      await wait(80);
      const word = WORD[Math.floor(noise(i, now.length) * 6)];
      now += word;
      yield { id: 1000, text: word, pass: new Pass(tokenize(now), []) };
    }
  }
  async chat() {
    return [1, 2, 3];
  }
  async dispose() {}
}

export async function loadModel(source, { onProgress, signal } = {}) {
  const slow = Number(new URLSearchParams(location.search).get('slow') ?? 0);
  for (let i = 0; i <= 20; i++) {
    if (signal?.aborted) throw new LookbackError('cancelled', 'cancelled');
    onProgress?.({ phase: i < 20 ? 'download' : 'prepare', loaded: (i / 20) * 98362432, total: 98362432 });
    if (slow) await wait(slow);
  }
  if (String(source).includes('broken'))
    throw new LookbackError('http_status', `${source} answered 404 Not Found with a web page instead of weights`);
  return new Model();
}
