// Everything that has to lie ready before a measurement, made once and kept in the cache folder: peers from npm and PyPI at pinned versions, ONNX
// models, prompts, and one folder to serve it all from.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
export const cache = join(
  process.env.LOOKBACK_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'lookback'),
  'bench',
);

const NPM_PEERS = { '@wllama/wllama': '3.13.0', 'onnxruntime-web': '1.30.0' };
const PYTHON_MAKERS = ['numpy==2.4.6', 'onnx==1.23.2'];
const LLAMA_CPP = 'llama-cpp-python==0.3.36';

const say = (text) => process.stderr.write(`== ${text}\n`);
const run = (command, args, options = {}) => execFileSync(command, args, { stdio: ['ignore', 2, 2], ...options });

/** Does a step unless its stamp says that it was done from the same inputs. @param {string} name @param {string} inputs @param {() => void} step */
function once(name, inputs, step) {
  const stamp = join(cache, `.${name}`);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === inputs) return;
  step();
  writeFileSync(stamp, inputs);
}

function pythonFolder() {
  const venv = join(cache, 'venv');
  if (!existsSync(join(venv, 'bin', 'python'))) run('python3', ['-m', 'venv', venv]);
  return join(venv, 'bin');
}

const pip = (...args) =>
  run(join(pythonFolder(), 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...args]);

/** Browser peers from npm; answers their folder. */
export function npmPeers() {
  const folder = join(cache, 'peers');
  once('peers', JSON.stringify(NPM_PEERS), () => {
    say('installing browser peers from npm');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: NPM_PEERS }));
    run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'], { cwd: folder });
  });
  return join(folder, 'node_modules');
}

/** ONNX models of these weights; answers their folder. @param {string} weights */
export function onnxModels(weights) {
  const folder = join(cache, 'onnx');
  const maker = join(here, 'make_onnx.py');
  const inputs = createHash('sha256').update(readFileSync(maker)).update(readFileSync(weights)).digest('hex');
  once('onnx', inputs, () => {
    say('making ONNX models from the weights');
    pip(...PYTHON_MAKERS);
    run(join(pythonFolder(), 'python'), [maker, weights, folder]);
  });
  return folder;
}

/** A Python that has llama.cpp, compiled for this very machine. */
export function pythonWithLlamaCpp() {
  once('llama', LLAMA_CPP, () => {
    say('compiling llama.cpp for this machine (some minutes)');
    pip('--no-binary', 'llama-cpp-python', LLAMA_CPP, ...PYTHON_MAKERS.slice(0, 1));
  });
  return join(pythonFolder(), 'python');
}

/** Bundles a package folder as a page that uses it would; answers the bundle's folder. @param {string} source */
export async function bundlePackage(source = join(root, 'dist', 'package')) {
  const folder = join(cache, 'bundle');
  await build({
    configFile: false,
    root: join(here, 'page'),
    base: './',
    publicDir: false,
    logLevel: 'error',
    resolve: { alias: { 'lookback-package': join(source, 'index.js') } },
    worker: { format: 'es' },
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'es2022',
      assetsInlineLimit: 0,
      modulePreload: false,
      rollupOptions: {
        input: join(here, 'page', 'adapters', 'lookback.js'),
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: 'lookback.js' },
      },
    },
  });
  return folder;
}

/** One folder to serve: the page, our bundle, peers and models, each a link. @param {Record<string, string>} parts name → folder or file */
export function servedFolder(parts) {
  const folder = join(cache, 'served');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'models'), { recursive: true });
  for (const [name, target] of Object.entries(parts)) symlinkSync(target, join(folder, name));
  return folder;
}

/** First PARAGRAPH, again and again, cut into prompts of exact lengths; each text tokenises to its ids. */
const PARAGRAPH =
  'Every lighthouse keeper on the northern coast kept a log, and most of them wrote the same three lines: wind, sea, lamp. ' +
  'Only one of them wrote down what passed. He counted herring boats in spring and timber ships in autumn, drew the shape of each sail, and ' +
  'noted which captains raised a hand. When the shipping company asked, sixty years later, why its old charts showed a harbour where there was ' +
  'only sand, nobody could answer until a student found his books in a cupboard. The bar had moved two hundred metres in one winter. He had ' +
  'drawn that too, in pencil, with the date, and under it: wind west, sea heavy, lamp burning. ';
const WORDS =
  'Words: orange piano seven cloud ladder violet engine marble. orange piano seven cloud ladder violet engine marble';

/**
 * @param {number[]} lengths
 * @param {string} weights
 * @returns {Promise<Record<string, {ids: number[], text: string}>>} by length, and the article's words
 */
export async function makePrompts(lengths, weights) {
  const { loadModel } = await import('../../../dist/package/index.js');
  const model = await loadModel(weights, { threads: 1, contextLength: 64 });
  const tokens = await model.tokenize(PARAGRAPH.repeat(Math.ceil(Math.max(...lengths) / 100)));
  const prompts = {};
  const add = async (name, ids) => {
    const text = await model.detokenize(ids);
    const again = (await model.tokenize(text)).map((token) => token.id);
    if (again.join() !== ids.join()) throw new Error(`prompt ${name}: its text tokenises to other ids`);
    prompts[name] = { ids, text };
  };
  for (const length of lengths) {
    const ids = tokens.slice(0, length).map((token) => token.id);
    if (ids.length !== length) throw new Error(`prompt of ${length}: the paragraph gives only ${ids.length} tokens`);
    await add(String(length), ids);
  }
  await add(
    'words',
    (await model.tokenize(WORDS)).map((token) => token.id),
  );
  await model.dispose();
  return prompts;
}
