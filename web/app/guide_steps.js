// Owns: the guided example: what each step sets and what it says. Sentences are made from the numbers on screen, never from memory.

import { EXAMPLES } from './examples.js';
import { strongestBy } from './measure_copying.js';
import { shortHead } from './selectors.js';
import * as format from '../view/format.js';

const WORDS = EXAMPLES[0];
/** The token after the first “seven”: what a copying head should find from the second one. */
const LOOKED_AT = 5;

const names = (heads) => heads.map((h) => shortHead(h.layer, h.head)).join(', ');

/** Probability of the followed token now and with nothing off, or null while it is not there. */
function followed(s) {
  const st = s.data.standing;
  return st && !st.failed && s.run && st.position === WORDS.token && !s.running
    ? { text: st.text, now: st.now.probability, before: (st.before ?? st.now).probability }
    : null;
}
const stats = (s) => (s.data.heads?.list && s.run?.text === WORDS.text ? s.data.heads.list : null);

/** What a change of the followed probability means, whatever its direction turns out to be. */
function moved(s, what) {
  const p = followed(s);
  if (!p) return 'Running…';
  const from = format.share(p.before);
  const to = format.share(p.now);
  if (p.now > p.before * 1.05)
    return `Without ${what} the probability of “${p.text}” goes up: ${from} → ${to}. So on this text it was not what carried the answer, strong as its share is.`;
  if (p.now < p.before * 0.95) return `Without ${what} the probability of “${p.text}” falls: ${from} → ${to}.`;
  return `Without ${what} the probability of “${p.text}” hardly moves: ${from} → ${to}.`;
}

/**
 * ready: is the view where the step wants it; set: bring it there; say: what is to be seen, from the state's own numbers.
 * @typedef {{title: string, say: (s: any) => string, set: (actions: any, s: any) => void, off: (s: any) => {layer: number, head: number}[]}} Step
 * @type {Step[]}
 */
export const STEPS = [
  {
    title: 'A word comes back',
    off: () => [],
    set: (actions) => {
      actions.example('words');
      actions.setShade('induction');
    },
    say: (s) => {
      const row = s.data.row;
      const there =
        row &&
        !row.failed &&
        row.layer === WORDS.layer &&
        row.head === WORDS.head &&
        row.query === WORDS.token &&
        s.run?.text === WORDS.text;
      if (!there) return 'A list of eight words, written twice. The second “seven” is pinned, in layer 17, head 4.';
      return `A list of eight words, written twice. The second “seven” is pinned. Layer ${WORDS.layer}, head ${WORDS.head} gives ${format.share(row.share[LOOKED_AT])} of its attention to “cloud”: the word that came after “seven” last time. The atlas shows every head that does so on this text.`;
    },
  },
  {
    title: 'What the model answers',
    off: () => [],
    set: (actions) => actions.setOff([]),
    say: (s) => {
      const p = followed(s);
      if (!p) return 'Beside the table stands what the model expects after the second “seven”.';
      return `After the second “seven” the first answer is “${p.text}”, with ${format.share(p.now)}. It is tempting to say: because that head looked there. But a share is where a head looks, not what it does.`;
    },
  },
  {
    title: 'Switch that head off',
    off: () => [{ layer: WORDS.layer, head: WORDS.head }],
    set: (actions, s) => actions.setOff(STEPS[2].off(s)),
    say: (s) => moved(s, shortHead(WORDS.layer, WORDS.head)),
  },
  {
    title: 'Others do the same',
    off: (s) => (stats(s) ? strongestBy(stats(s), 'induction', 5).map(({ layer, head }) => ({ layer, head })) : []),
    set: (actions, s) => actions.setOff(s.guideHeads ?? []),
    say: (s) =>
      `${moved(s, `the five strongest copying heads (${names(s.guideHeads ?? [])})`)} Several heads copy; one alone can be missed because the others stand in.`,
  },
  {
    title: 'The head before the copy',
    off: (s) => (stats(s) ? strongestBy(stats(s), 'previous', 1).map(({ layer, head }) => ({ layer, head })) : []),
    set: (actions, s) => actions.setOff(s.guidePrevious ?? []),
    say: (s) =>
      `${moved(s, `the strongest previous-token head (${names(s.guidePrevious ?? [])})`)} Copying takes two heads: an earlier one writes into each word which word stood before it, a later one searches for that. The panel “Copying” measures it over the whole second list.`,
  },
  {
    title: 'Now yours',
    off: () => [],
    set: (actions) => actions.setOff([]),
    say: () =>
      'All heads are on again, and every number is the one from before. Change the text, pin another word, press “Which heads matter here?”, or cut a single link in the table.',
  },
];
