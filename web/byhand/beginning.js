/** Two fields that the mask's and the toy head's figures have alike: a sentence of toy words, and how many of them its beginning has. */
import { numberField, sentenceField } from './fields.js';
import { EMBEDDED_WORDS } from './toy_words.js';

/** @param {{initial: string, fewest: number, most: number, onChange: () => void}} options */
export function sentenceAndBeginning({ initial, fewest, most, onChange }) {
  return {
    words: sentenceField({ label: 'words', initial, vocab: EMBEDDED_WORDS, min: fewest, max: 7, onChange }),
    start: numberField({ label: 'words of the beginning', initial: 3, min: 1, max: most, whole: true, onChange }),
  };
}
