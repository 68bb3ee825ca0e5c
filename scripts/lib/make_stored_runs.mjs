// make_stored_runs.mjs WEIGHTS FOLDER: runs the article's prompts with the very engine and weights that ship, and keeps what the page
// shows of them until the weights are in. Does nothing when every file is there and newer than the engine, the weights and this script.
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadModel } from '../../web/engine/index.js';
import { EXAMPLES } from '../../web/app/examples.js';
import { makeStoredRun } from '../../web/app/stored_run.js';

const [weights, folder] = process.argv.slice(2);
if (!weights || !folder) {
  console.error('usage: make_stored_runs.mjs WEIGHTS FOLDER');
  process.exit(2);
}

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const changedAt = (path) =>
  stat(path).then(
    (s) => s.mtimeMs,
    () => 0,
  );

async function newest(paths) {
  return Math.max(...(await Promise.all(paths.map(changedAt))));
}
const engineFolder = at('../../web/engine');
const engineFiles = (await readdir(engineFolder, { recursive: true })).map((name) => join(engineFolder, name));
const made = EXAMPLES.map(({ name }) => join(folder, `${name}.json`));
const sources = await newest([
  weights,
  fileURLToPath(import.meta.url),
  at('../../web/app/examples.js'),
  at('../../web/app/stored_run.js'),
  ...engineFiles,
]);
const oldest = Math.min(...(await Promise.all(made.map(changedAt))));
if (oldest > sources) process.exit(0);

await mkdir(folder, { recursive: true });
const model = await loadModel(weights);
for (const [i, { name, text }] of EXAMPLES.entries()) {
  await writeFile(made[i], `${JSON.stringify(await makeStoredRun(model, text, { name }))}\n`);
}
await model.dispose();
