// Owns: how well the text's repeats are foretold, as it is and with copying heads off. Touches the model through its public verbs only.

import { repeats, order, standing } from '../view/ranking.js';

/** More positions than this say nothing new, and each costs a row of logits. */
const MOST_POSITIONS = 48;

/**
 * Where the text repeats and the token after is known: predictions there, and at the first time the same word stood.
 * @param {{id: number}[]} tokens
 */
export function repeatedPositions(tokens) {
  const found = repeats(tokens.map((t) => t.id)).filter(({ position }) => position + 1 < tokens.length);
  const second = found.map((r) => r.position).slice(0, MOST_POSITIONS);
  const first = [...new Set(found.slice(0, MOST_POSITIONS).map((r) => r.earlier[0]))];
  return { first, second };
}

/** Mean probability of the token that really follows. */
async function meanNext(pass, tokens, positions) {
  if (positions.length === 0) return null;
  let sum = 0;
  for (const t of positions) sum += standing(await pass.logits(t), tokens[t + 1].id).probability;
  return sum / positions.length;
}

/** The strongest heads by one statistic. @param {any[]} stats @param {string} key @param {number} count */
export function strongestBy(stats, key, count) {
  const values = stats.map((r) => (Number.isFinite(r[key]) ? r[key] : null));
  return order(values)
    .slice(0, count)
    .map((i) => ({ layer: stats[i].layer, head: stats[i].head, value: values[i] }));
}

/**
 * @param {any} model @param {string} text @param {any} clean a pass with nothing off @param {any[]} stats head statistics of it
 * @param {{signal: AbortSignal}} options
 */
export async function* measureCopying(model, text, clean, stats, { signal }) {
  const { tokens } = clean;
  const { first, second } = repeatedPositions(tokens);
  const heads = strongestBy(stats, 'induction', 5);
  const previous = strongestBy(stats, 'previous', 1);
  yield {
    label: 'the first time these words stand',
    off: [],
    positions: first,
    mean: await meanNext(clean, tokens, first),
    first: true,
  };
  const sets = [
    { label: 'when they come again, nothing off', off: [] },
    ...[1, 3, 5].map((k) => ({
      label: `without the ${k === 1 ? 'strongest copying head' : `${k} strongest copying heads`}`,
      off: heads.slice(0, k),
    })),
    { label: 'without the strongest previous-token head', off: previous },
  ];
  for (const { label, off } of sets) {
    if (signal.aborted) return;
    const switches = off.map(({ layer, head }) => ({ layer, head }));
    const pass = off.length ? await model.forward(text, { off: switches, signal }) : clean;
    yield { label, off: switches, positions: second, mean: await meanNext(pass, tokens, second), first: false };
    if (pass !== clean) pass.dispose();
  }
}
