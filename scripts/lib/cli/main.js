// The headless tool: one verb, one answer, an exit code. 0 fine; 1 `error: CODE: sentence`; 2 a wrong call, with usage.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { relaxedSimd } from 'wasm-feature-detect';
import { inspectFile, loadModel, LookbackError } from '../../../web/engine/index.js';
import { parseCommand, USAGE, UsageError } from './arguments.js';
import { TABLES } from './tables.js';
import { ANSWERS } from './verbs.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DEFAULT_WEIGHTS = join(ROOT, 'models', 'SmolLM2-135M-Instruct.Q4_1.gguf');
/** Node 20 has relaxed SIMD behind this flag; later ones have it without. */
const RELAXED_FLAG = '--experimental-wasm-relaxed-simd';

process.stdout.on('error', (error) => {
  // A reader like head has seen enough.
  if (/** @type {any} */ (error).code === 'EPIPE') process.exit(0);
  throw error;
});

/**
 * @param {string[]} argv
 * @returns {Promise<number>}
 */
async function run(argv) {
  try {
    if (argv[0] === '--help' || argv[0] === 'help') {
      process.stdout.write(`${USAGE}\n`);
      return 0;
    }
    const command = parseCommand(argv);
    if (command.options.variant === 'relaxed' && !(await relaxedSimd()) && !process.execArgv.includes(RELAXED_FLAG)) {
      const again = spawnSync(process.execPath, [RELAXED_FLAG, ...process.execArgv, process.argv[1], ...argv], {
        stdio: 'inherit',
      });
      if (again.error) throw again.error;
      return again.status ?? 1;
    }
    await answer(command);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`${error.message}\n${USAGE}\n`);
      return 2;
    }
    const code = error instanceof LookbackError ? error.code : 'internal';
    process.stderr.write(`error: ${code}: ${String(/** @type {Error} */ (error).message).replace(/\s*\n\s*/g, ' ')}\n`);
    return 1;
  }
}

/** @param {ReturnType<typeof parseCommand>} command */
async function answer({ verb, options, operand }) {
  const print = (/** @type {object} */ value) =>
    process.stdout.write(`${options.json ? JSON.stringify(value, numbersAsTheyAre) : TABLES[verb](value)}\n`);
  if (verb === 'inspect') return print(await inspectFile(operand));

  const source = options.model ?? defaultWeights();
  const text = operand === '-' ? await standardInput() : operand;
  const progress = createBar(basename(source));
  const model = await loadModel(source, {
    threads: options.threads,
    precision: options.precision,
    variant: options.variant,
    onProgress: progress.show,
  }).finally(progress.clear);
  try {
    const streams = verb === 'generate' && !options.json;
    const value = await ANSWERS[verb](model, { options, text, write: (part) => streams && process.stdout.write(part) });
    if (streams) process.stdout.write('\n');
    else print(value);
  } finally {
    await model.dispose();
  }
}

/** Infinity has no JSON: a cut link's score is written as the text "-Infinity". */
const numbersAsTheyAre = (/** @type {string} */ _key, /** @type {any} */ value) =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;

function defaultWeights() {
  if (existsSync(DEFAULT_WEIGHTS)) return DEFAULT_WEIGHTS;
  throw new LookbackError('not_found', `no weights in models/: run scripts/fetch-weights, or name a file with --model`);
}

/** All of standard input, to the byte. */
async function standardInput() {
  const parts = [];
  for await (const part of process.stdin) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

/**
 * Progress on a terminal, nothing elsewhere.
 * @param {string} name
 */
function createBar(name) {
  const terminal = process.stderr.isTTY;
  return {
    show: (/** @type {import('../../../web/engine/index.d.ts').LoadProgress} */ { phase, loaded, total }) => {
      if (!terminal) return;
      const share = total ? `${Math.floor((100 * loaded) / total)} %` : `${(loaded / 1e6).toFixed(1)} MB`;
      process.stderr.write(`\r\x1b[K${name}: ${phase} ${share}`);
    },
    clear: () => terminal && process.stderr.write('\r\x1b[K'),
  };
}

process.exitCode = await run(process.argv.slice(2));
