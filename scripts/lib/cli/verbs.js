// What each verb computes: an object, the same that --json prints. Owns: the answers of CONTRACT's table; no printing, except text as it is generated.

import { LookbackError } from '../../../web/engine/index.js';
import { computeFigures, klDivergence, probabilityOf } from '../../../web/engine/figures.js';

const TOP = 10;

/**
 * @typedef {import('../../../web/engine/index.d.ts').Model} Model
 * @typedef {import('../../../web/engine/index.d.ts').Pass} Pass
 * @typedef {{options: Record<string, any>, text: string, write: (text: string) => void}} Call
 */

/** @type {Record<string, (model: Model, call: Call) => Promise<object>>} */
export const ANSWERS = { tokens, look, next, heads, lens, off, generate, figures };

/** @param {Model} model @param {Call} call */
async function tokens(model, { options, text }) {
  const found = await model.tokenize(text, { special: !options.plain });
  return { tokens: found.map(({ id, text: own, start, end, special }) => ({ id, text: own, start, end, special })) };
}

/** @param {Model} model @param {Call} call */
async function look(model, { options: { layer, head, at }, text }) {
  return withPass(model, text, {}, async (pass) => {
    const position = positionOf(pass, at);
    const { qk, scaled, share } = await pass.row(layer, head, position);
    const rows = Array.from(share, (_, key) => ({
      position: key,
      id: pass.tokens[key].id,
      text: pass.tokens[key].text,
      qk: qk[key],
      scaled: scaled[key],
      share: share[key],
    }));
    return { layer, head, position, rows };
  });
}

/** @param {Model} model @param {Call} call */
async function next(model, { options: { at, top = TOP }, text }) {
  return withPass(model, text, {}, async (pass) => {
    const position = positionOf(pass, at);
    return { position, top: await pass.top(top, position) };
  });
}

/** @param {Model} model @param {Call} call */
async function heads(model, { text }) {
  return withPass(model, text, {}, async (pass) => ({ heads: await pass.heads() }));
}

/** @param {Model} model @param {Call} call */
async function lens(model, { options: { at, top = 5 }, text }) {
  return withPass(model, text, {}, async (pass) => {
    const position = positionOf(pass, at);
    return { position, layers: await pass.lens(position, top) };
  });
}

/** @param {Model} model @param {Call} call */
async function off(model, { options, text }) {
  return withPass(model, text, {}, (clean) =>
    withPass(model, text, { off: options.off }, async (changed) => {
      const position = positionOf(clean, options.at);
      const id =
        options.token === undefined ? (await clean.top(1, position))[0].id : await singleToken(model, options.token);
      const [before, after] = [await clean.logits(position), await changed.logits(position)];
      const target = await model.detokenize([id]);
      return {
        position,
        target: { id, text: target },
        before: { logit: before[id], probability: probabilityOf(before, id) },
        after: { logit: after[id], probability: probabilityOf(after, id) },
        kl: klDivergence(before, after),
        top: await changed.top(TOP, position),
      };
    }),
  );
}

/** @param {Model} model @param {Call} call */
async function generate(model, { options, text, write }) {
  const prompt = options.chat ? await model.chat([{ role: 'user', content: text }]) : text;
  const run = model.generate(prompt, {
    maxTokens: options.max,
    temperature: options.temperature,
    topK: options['top-k'],
    topP: options['top-p'],
    seed: options.seed,
  });
  const ids = [];
  let generated = '';
  for (;;) {
    const { done, value } = await run.next();
    if (done) return { ids, text: generated, finish: value };
    value.pass.dispose();
    ids.push(value.id);
    generated += value.text;
    write(value.text);
  }
}

/** @param {Model} model */
async function figures(model) {
  return { weights: model.info.weights, figures: await computeFigures(model) };
}

/**
 * @template T
 * @param {Model} model
 * @param {string} text
 * @param {import('../../../web/engine/index.d.ts').ForwardOptions} options
 * @param {(pass: Pass) => Promise<T>} task
 */
async function withPass(model, text, options, task) {
  const pass = await model.forward(text, options);
  try {
    return await task(pass);
  } finally {
    pass.dispose();
  }
}

/**
 * @param {Pass} pass
 * @param {number | undefined} at
 */
function positionOf(pass, at = pass.length - 1) {
  if (at >= pass.length) {
    throw new LookbackError('bad_argument', `--at is ${at}, expected a position from 0 to ${pass.length - 1}`);
  }
  return at;
}

/**
 * @param {Model} model
 * @param {string} text
 */
async function singleToken(model, text) {
  const found = await model.tokenize(text);
  if (found.length !== 1) {
    const parts = found.map((token) => JSON.stringify(token.text)).join(' ');
    throw new LookbackError(
      'bad_argument',
      `--token ${JSON.stringify(text)} is ${found.length} tokens (${parts}), expected one; a word inside a text begins with a space`,
    );
  }
  return found[0].id;
}
