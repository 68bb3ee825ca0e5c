// Owns: the two prompts of the article, to the character, and where each view of them starts. May touch: nothing.

export const EXAMPLES = [
  {
    name: 'words',
    label: 'words',
    text: 'Words: orange piano seven cloud ladder violet engine marble. orange piano seven cloud ladder violet engine marble',
    layer: 17,
    head: 4,
    token: 13,
  },
  {
    name: 'trophy',
    label: 'trophy',
    text: "The trophy didn't fit in the suitcase because it was too big.",
    layer: 3,
    head: 8,
    token: 10,
  },
];

/** Addresses of the runs that the build stores; written out one by one, since the bundler follows only what it can read. */
export const STORED = {
  words: new URL('../stored/words.json', import.meta.url),
  trophy: new URL('../stored/trophy.json', import.meta.url),
};

/** Texts that show how a tokenizer cuts; nothing about them is stored. */
export const MORE_EXAMPLES = [
  { name: 'code', label: 'code', text: 'def add(a, b):\n    return a + b\n\ndef mul(a, b):\n    return a' },
  { name: 'pieces', label: 'emoji & scripts', text: 'Hi 😀! 日本語 and עברית,\ttwo  spaces.' },
];

/** Longest text the page shows; the engine itself reads up to the model's context. */
export const MOST_TOKENS = 2048;
