/**
 * Shapes, parameters and scores of a transformer, counted from its published sizes.
 * @typedef {object} Shape
 * @property {string} name
 * @property {number} layers
 * @property {number} width        d_model, the length of a token's vector
 * @property {number} heads        query heads a layer
 * @property {number} kvHeads      key/value heads a layer; fewer than `heads` when queries share them
 * @property {number} headDim      d_k
 * @property {number} feedForward  width inside the feed-forward part
 * @property {number} mlpMatrices  2 (up, down) or 3 (gate, up, down)
 * @property {number} vocab
 * @property {number} maxTokens    the longest text it was made for
 * @property {boolean} biases      whether the matrices add a bias
 * @property {boolean} positionTable  whether positions are a learnt table (else they are rotations and cost no parameter)
 * @property {number} normVectors  vectors of `width` a normalisation holds: 2 (scale and shift) or 1 (scale)
 */

/** @type {Shape} Source: Radford et al. 2019 and the released configuration of gpt2. */
export const GPT2_SMALL = {
  name: 'GPT-2 small',
  layers: 12,
  width: 768,
  heads: 12,
  kvHeads: 12,
  headDim: 64,
  feedForward: 3072,
  mlpMatrices: 2,
  vocab: 50257,
  maxTokens: 1024,
  biases: true,
  positionTable: true,
  normVectors: 2,
};

/** @type {Shape} Source: the metadata of the weights that the main page loads. */
export const SMOLLM2_135M = {
  name: 'SmolLM2-135M',
  layers: 30,
  width: 576,
  heads: 9,
  kvHeads: 3,
  headDim: 64,
  feedForward: 1536,
  mlpMatrices: 3,
  vocab: 49152,
  maxTokens: 8192,
  biases: false,
  positionTable: false,
  normVectors: 1,
};

/**
 * attentionShapes: what one layer's attention holds for n tokens
 * @param {Shape} shape
 * @param {number} n
 * @returns {{Q: number[], K: number[], V: number[], S: number[], AV: number[], joined: number[], out: number[]}}
 */
export function attentionShapes({ width, heads, kvHeads, headDim }, n) {
  return {
    Q: [heads, n, headDim],
    K: [kvHeads, n, headDim],
    V: [kvHeads, n, headDim],
    S: [heads, n, n],
    AV: [heads, n, headDim],
    joined: [n, heads * headDim],
    out: [n, width],
  };
}

/**
 * parameters: how many numbers were learnt, part by part
 * @param {Shape} shape
 * @returns {{attention: number, attentionBiases: number, mlp: number, mlpBiases: number, embedding: number, positions: number, total: number}}
 *          attention and mlp are the matrices of one layer
 */
export function parameters(shape) {
  const {
    layers,
    width,
    heads,
    kvHeads,
    headDim,
    feedForward,
    mlpMatrices,
    vocab,
    maxTokens,
    biases,
    positionTable,
    normVectors,
  } = shape;
  const queryWidth = heads * headDim;
  const kvWidth = kvHeads * headDim;
  const attention = width * queryWidth + 2 * width * kvWidth + queryWidth * width;
  const attentionBiases = biases ? queryWidth + 2 * kvWidth + width : 0;
  const mlp = mlpMatrices * width * feedForward;
  const mlpBiases = biases ? (mlpMatrices - 1) * feedForward + width : 0;
  const embedding = vocab * width;
  const positions = positionTable ? maxTokens * width : 0;
  const norms = (2 * layers + 1) * normVectors * width;
  const total = embedding + positions + layers * (attention + attentionBiases + mlp + mlpBiases) + norms;
  return { attention, attentionBiases, mlp, mlpBiases, embedding, positions, total };
}

/**
 * cacheFloats: numbers kept a token so that its keys and values need not be computed again
 * @param {Shape} shape
 * @returns {number}
 */
export function cacheFloats({ layers, kvHeads, headDim }) {
  return 2 * layers * kvHeads * headDim;
}

/**
 * pairs: scores of one head for n tokens: the whole grid, and what a causal mask leaves of it
 * @param {number} n
 * @returns {{full: number, causal: number}}
 */
export function pairs(n) {
  return { full: n * n, causal: (n * (n + 1)) / 2 };
}
