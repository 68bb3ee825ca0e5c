const SENTENCE =
  'The old harbour keeps its boats in rows, and the wind moves them as it likes; a gull cries over the wet stones. ';

/** A plain text of about so many tokens. @param {number} tokens */
export const longText = (tokens) => SENTENCE.repeat(Math.ceil(tokens / 26)).trim();
