// The command line as {verb, options, text}, or a usage error. Owns: what each verb takes.

import { parseArgs } from 'node:util';

/** A wrong call: exit code 2 and usage. */
export class UsageError extends Error {}

const text = { type: /** @type {const} */ ('string') };
const many = { type: /** @type {const} */ ('string'), multiple: true };
const flag = { type: /** @type {const} */ ('boolean') };

/** Options of every verb. */
const COMMON = { model: text, threads: text, precision: text, variant: text, json: flag };

/** @type {Record<string, {usage: string, options: import('node:util').ParseArgsConfig['options'], operand: string | null}>} */
export const VERBS = {
  tokens: { usage: '[--plain] TEXT', options: { plain: flag }, operand: 'TEXT' },
  look: { usage: '--layer L --head H [--at I] TEXT', options: { layer: text, head: text, at: text }, operand: 'TEXT' },
  next: { usage: '[--at I] [--top K] TEXT', options: { at: text, top: text }, operand: 'TEXT' },
  heads: { usage: 'TEXT', options: {}, operand: 'TEXT' },
  lens: { usage: '[--at I] [--top K] TEXT', options: { at: text, top: text }, operand: 'TEXT' },
  off: {
    usage: '[--head L.H]… [--link L.H:Q>K]… [--token TEXT] [--at I] TEXT',
    options: { head: many, link: many, token: text, at: text },
    operand: 'TEXT',
  },
  generate: {
    usage: '[--max N] [--chat] [--temperature T] [--top-k K] [--top-p P] [--seed S] TEXT',
    options: { max: text, chat: flag, temperature: text, 'top-k': text, 'top-p': text, seed: text },
    operand: 'TEXT',
  },
  figures: { usage: '', options: {}, operand: null },
  inspect: { usage: 'FILE', options: {}, operand: 'FILE' },
};

export const USAGE = `usage: scripts/lookback VERB [OPTION]…
${Object.entries(VERBS)
  .map(([verb, { usage }]) => `  ${verb} ${usage}`.trimEnd())
  .join('\n')}
every verb: [--model PATH_OR_URL] [--threads N] [--precision exact|fast] [--variant auto|simd128|relaxed] [--json]
TEXT may be - for standard input; -- ends the options.`;

/** @param {string[]} argv */
export function parseCommand(argv) {
  const [verb, ...rest] = argv;
  if (verb === undefined) throw new UsageError('no verb');
  const known = Object.hasOwn(VERBS, verb) ? VERBS[verb] : null;
  if (!known) throw new UsageError(`no verb ${JSON.stringify(verb)}`);
  let parsed;
  try {
    parsed = parseArgs({ args: rest, options: { ...COMMON, ...known.options }, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error.message);
  }
  const { values, positionals } = parsed;
  if (positionals.length !== (known.operand ? 1 : 0)) {
    throw new UsageError(
      `${verb} takes ${known.operand ? `one ${known.operand}` : 'no text'}, ${positionals.length} came`,
    );
  }
  /** @type {Record<string, any>} */
  const options = { ...values };
  for (const name of ['threads', 'layer', 'at', 'top', 'max', 'top-k', 'seed']) whole(options, name);
  if (verb === 'look') {
    whole(options, 'head');
    if (options.layer === undefined || options.head === undefined)
      throw new UsageError('look needs --layer and --head');
  }
  for (const name of ['temperature', 'top-p']) real(options, name);
  oneOf(options, 'precision', ['exact', 'fast']);
  oneOf(options, 'variant', ['auto', 'simd128', 'relaxed']);
  if (verb === 'off') {
    options.off = [...(options.head ?? []).map(parseHead), ...(options.link ?? []).map(parseLink)];
    if (options.off.length === 0) throw new UsageError('off needs at least one --head or --link');
  }
  return { verb, options, operand: positionals[0] };
}

/**
 * @param {Record<string, any>} options
 * @param {string} name
 */
function whole(options, name) {
  if (options[name] === undefined) return;
  if (!/^\d{1,10}$/.test(options[name]))
    throw new UsageError(`--${name} is ${options[name]}, expected a whole number from 0`);
  options[name] = Number(options[name]);
}

/**
 * @param {Record<string, any>} options
 * @param {string} name
 */
function real(options, name) {
  if (options[name] === undefined) return;
  if (!/^\d*\.?\d+(e[+-]?\d+)?$/i.test(options[name]))
    throw new UsageError(`--${name} is ${options[name]}, expected a number from 0`);
  options[name] = Number(options[name]);
}

/**
 * @param {Record<string, any>} options
 * @param {string} name
 * @param {string[]} values
 */
function oneOf(options, name, values) {
  if (options[name] !== undefined && !values.includes(options[name])) {
    throw new UsageError(`--${name} is ${options[name]}, expected ${values.join(' or ')}`);
  }
}

/** @param {string} value */
function parseHead(value) {
  const match = /^(\d{1,6})\.(\d{1,6})$/.exec(value);
  if (!match) throw new UsageError(`--head is ${value}, expected LAYER.HEAD`);
  return { layer: Number(match[1]), head: Number(match[2]) };
}

/** @param {string} value */
function parseLink(value) {
  const match = /^(\d{1,6})\.(\d{1,6}):(\d{1,7})>(\d{1,7})$/.exec(value);
  if (!match) throw new UsageError(`--link is ${value}, expected LAYER.HEAD:QUERY>KEY`);
  const [layer, head, query, key] = match.slice(1).map(Number);
  return { layer, head, query, key };
}
