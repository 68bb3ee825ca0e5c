// Answers as tables for a person. --json is the exact form; here numbers are rounded and say so by their length.

/** @type {Record<string, (answer: any) => string>} */
export const TABLES = {
  tokens: ({ tokens }) =>
    table(
      ['#', 'id', 'text', 'span'],
      tokens.map((token, index) => [
        index,
        token.id,
        shown(token.text) + (token.special ? ' special' : ''),
        `${token.start}–${token.end}`,
      ]),
    ),
  look: ({ layer, head, position, rows }) =>
    `layer ${layer} head ${head}, position ${position} ${shown(rows[position].text)}\n` +
    table(
      ['#', 'text', 'q·k', 'scaled', 'share'],
      rows.map((row) => [row.position, shown(row.text), fixed(row.qk, 2), fixed(row.scaled, 3), percent(row.share)]),
    ),
  next: ({ position, top }) => `after position ${position}\n${topTable(top)}`,
  heads: ({ heads }) =>
    table(
      ['layer', 'head', 'previous', 'first', 'self', 'induction', 'duplicate', 'entropy'],
      heads.map((row) => [
        row.layer,
        row.head,
        ...[row.previous, row.first, row.self, row.induction, row.duplicate].map((value) =>
          value === null ? '–' : percent(value),
        ),
        row.entropy === null ? '–' : fixed(row.entropy, 3),
      ]),
    ),
  lens: ({ position, layers }) =>
    `position ${position}; layer 0 is after the embedding\n` +
    table(
      ['layer', 'most probable next tokens'],
      layers.map(({ layer, top }) => [
        layer,
        top.map(({ text, probability }) => `${shown(text)} ${percent(probability)}`).join('  '),
      ]),
    ),
  off: ({ position, target, before, after, kl, top }) =>
    `position ${position}, ${shown(target.text)}: ${percent(before.probability)} → ${percent(after.probability)}, ` +
    `logit ${fixed(before.logit, 3)} → ${fixed(after.logit, 3)}, KL ${fixed(kl, 4)} nats\nwith it off:\n${topTable(top)}`,
  figures: ({ weights, figures }) =>
    `${weights.source ?? 'weights'} (${weights.dtypes.join(', ')})\n` +
    table(
      ['figure', 'article', 'here', 'definition'],
      figures.map(({ key, article, here, definition }) => [
        key,
        article,
        here === null ? '–' : Number(here.toPrecision(5)),
        definition,
      ]),
    ),
  inspect: ({ format, architecture, config, tensors, tokenizer, sha256 }) =>
    [
      `${format}, ${architecture ?? 'architecture not named'}, ${tensors.length} tensors${sha256 ? `, SHA-256 ${sha256}` : ''}`,
      ...Object.entries(config).map(([name, value]) => `  ${name}: ${value}`),
      tokenizer
        ? `tokenizer ${tokenizer.model}${tokenizer.pre ? `, ${tokenizer.pre}` : ''}: ${tokenizer.n_tokens} tokens, ${tokenizer.n_merges} merges`
        : 'no tokenizer',
      table(
        ['tensor', 'type', 'shape'],
        tensors.map(({ name, dtype, shape }) => [name, dtype, shape.join(' × ')]),
      ),
    ].join('\n'),
};

/** @param {any[]} top */
const topTable = (top) =>
  table(
    ['id', 'text', 'logit', 'probability'],
    top.map(({ id, text, logit, probability }) => [id, shown(text), fixed(logit, 3), percent(probability)]),
  );

/** White space and control characters in view. @param {string} text */
const shown = (text) => JSON.stringify(text);
const fixed = (/** @type {number} */ value, /** @type {number} */ digits) =>
  Number.isFinite(value) ? value.toFixed(digits) : String(value);
const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(2)} %`;

/**
 * @param {string[]} header
 * @param {(string | number)[][]} rows
 */
function table(header, rows) {
  const cells = [header, ...rows.map((row) => row.map(String))];
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const numeric = header.map((_, column) =>
    rows.every((row) => typeof row[column] === 'number' || /^(–|-?[\d.]+( %)?)$/.test(String(row[column]))),
  );
  return cells
    .map((row) =>
      row
        .map((cell, column) => (numeric[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
