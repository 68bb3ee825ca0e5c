// Every measured claim of the attention article, computed on the weights at hand. Pure reading of passes: the page and the command line share it.
// Owns: the two prompts and what each figure means. May touch: nothing. Start reading at: computeFigures.

/** The article's two prompts, to the character. */
export const WORDS_PROMPT =
  'Words: orange piano seven cloud ladder violet engine marble. orange piano seven cloud ladder violet engine marble';
export const TROPHY_PROMPT = "The trophy didn't fit in the suitcase because it was too big.";

/** Positions of the words prompt: eight words from 2, a full stop, the same eight from 11. */
const FIRST_COPY = 2;
const SECOND_COPY = 11;
const WORDS = 8;
/** The trophy prompt: where the pronoun and the two nouns stand, and from where sinks are counted. */
const IT = 10;
const TROPHY = 1;
const SUIT = 7;
const SINK_FROM = 4;

/**
 * @typedef {{key: string, article: number | string, here: number | null, definition: string}} Figure
 */

/**
 * A head's figure is null where the model has no such head.
 * @param {import('./index.d.ts').Model} model
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<Figure[]>}
 */
export async function computeFigures(model, { signal } = {}) {
  const words = await model.forward(WORDS_PROMPT, { signal });
  const trophy = await model.forward(TROPHY_PROMPT, { signal });
  try {
    const { layers, heads } = model.info;
    const share = async (
      /** @type {number} */ layer,
      /** @type {number} */ head,
      /** @type {import('./index.d.ts').Pass} */ pass,
      /** @type {number} */ query,
      /** @type {number} */ key,
    ) => (layer < layers && head < heads ? (await pass.row(layer, head, query)).share[key] : null);
    const induction = (/** @type {number} */ layer, /** @type {number} */ head) =>
      meanOver(range(0, WORDS), (j) => share(layer, head, words, SECOND_COPY + j, FIRST_COPY + 1 + j));
    const nextWord = (/** @type {number} */ from) =>
      meanOver(range(from, from + WORDS - 1), async (position) =>
        probabilityOf(await words.logits(position), words.tokens[position + 1].id),
      );
    const toFirst = await trophy.lookedAtBy(0);
    const sinks = range(0, layers * heads).map((head) =>
      mean(range(SINK_FROM, trophy.length).map((position) => toFirst[head * trophy.length + position])),
    );
    const sinkOf = (/** @type {number} */ layer, /** @type {number} */ head) =>
      layer < layers && head < heads ? sinks[layer * heads + head] : null;
    const fromIt = await trophy.look(IT);
    const meanFromIt = (/** @type {number} */ key) =>
      mean(range(0, layers * heads).map((head) => fromIt[head * (IT + 1) + key]));
    const cloud = SECOND_COPY + 2;

    return [
      figure(
        'l17h4_cloud_share',
        0.969,
        await share(17, 4, words, cloud, 5),
        'layer 17 head 4, share of the second "seven" (position 13) on "cloud" (position 5)',
      ),
      figure(
        'next_cloud_prob',
        0.799,
        probabilityOf(await words.logits(cloud), words.tokens[5].id),
        'probability of " cloud" after the second "seven": softmax of the logits at position 13',
      ),
      figure(
        'induction_l17h4',
        'about 0.90',
        await induction(17, 4),
        "layer 17 head 4, mean over the 8 repeated words of the share on the token after the word's first occurrence: A[11+j, 3+j], j = 0..7",
      ),
      figure('induction_l18h6', 'about 0.90', await induction(18, 6), 'the same, layer 18 head 6'),
      figure(
        'prev_l16h0',
        0.89,
        await meanOver(range(1, words.length), (t) => share(16, 0, words, t, t - 1)),
        'layer 16 head 0, mean share on the previous token over positions 1..18 of the word list',
      ),
      figure(
        'first_copy_next',
        0.0001,
        await nextWord(FIRST_COPY),
        'mean probability of the next word in the first copy: positions 2..8, 7 words',
      ),
      figure(
        'second_copy_next',
        0.69,
        await nextWord(SECOND_COPY),
        'mean probability of the next word in the second copy: positions 11..17, 7 words',
      ),
      figure(
        'sink_first_token',
        0.52,
        mean(sinks),
        'trophy sentence: share on the first token, mean over all heads and positions 4..14',
      ),
      figure(
        'sink_heads_over_half',
        116,
        sinks.filter((sink) => sink > 0.5).length,
        'heads whose mean share on the first token over positions 4..14 exceeds 0.5',
      ),
      figure('sink_l18h8', 1.0, sinkOf(18, 8), 'layer 18 head 8, mean share on the first token over positions 4..14'),
      figure(
        'l3h8_it_trophy',
        0.46,
        await share(3, 8, trophy, IT, TROPHY),
        'layer 3 head 8, share of "it" (position 10) on "trophy" (position 1)',
      ),
      figure('it_trophy_mean', 0.031, meanFromIt(TROPHY), 'share of "it" on "trophy", mean over all heads'),
      figure('it_suit_mean', 0.024, meanFromIt(SUIT), 'share of "it" on "suit" (position 7), mean over all heads'),
      figure('pairs_1000', 500500, pairs(1000), 'scores per head per layer for 1000 tokens: n(n+1)/2'),
      figure('heads_total', 270, layers * heads, 'layers × heads'),
    ];
  } finally {
    words.dispose();
    trophy.dispose();
  }
}

/**
 * Softmax at one entry, summed in double.
 * @param {Float32Array} logits
 * @param {number} id
 */
export function probabilityOf(logits, id) {
  let highest = -Infinity;
  for (const logit of logits) if (logit > highest) highest = logit;
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - highest);
  return Math.exp(logits[id] - highest) / total;
}

/**
 * KL divergence from p to q in nats, of two sets of logits.
 * @param {Float32Array} p
 * @param {Float32Array} q
 */
export function klDivergence(p, q) {
  const [logP, logQ] = [logNormalizer(p), logNormalizer(q)];
  let sum = 0;
  for (let id = 0; id < p.length; id++) sum += Math.exp(p[id] - logP) * (p[id] - logP - (q[id] - logQ));
  return Math.max(0, sum);
}

/** @param {Float32Array} logits */
function logNormalizer(logits) {
  let highest = -Infinity;
  for (const logit of logits) if (logit > highest) highest = logit;
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - highest);
  return highest + Math.log(total);
}

/**
 * Pairs that a causal pattern over n tokens has.
 * @param {number} n
 */
export const pairs = (n) => (n * (n + 1)) / 2;

/** @type {(key: string, article: number | string, here: number | null, definition: string) => Figure} */
const figure = (key, article, here, definition) => ({ key, article, here, definition });
const mean = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const range = (/** @type {number} */ from, /** @type {number} */ to) =>
  Array.from({ length: to - from }, (_, index) => from + index);

/**
 * @param {number[]} indices
 * @param {(index: number) => Promise<number | null>} value
 */
async function meanOver(indices, value) {
  const values = [];
  for (const index of indices) values.push(await value(index));
  return values.includes(null) ? null : mean(values);
}
