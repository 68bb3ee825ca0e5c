// make_package.mjs FOLDER: copies web/engine, unbundled, into an npm package. Dependencies and their versions are the
// repository's own; only those that the engine imports come along.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = process.argv[2];
if (!folder) {
  console.error('usage: make_package.mjs FOLDER');
  process.exit(2);
}
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const engine = join(root, 'web', 'engine');
const repository = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
await cp(engine, folder, { recursive: true });
await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));

const imported = new Set();
for (const name of await readdir(engine)) {
  if (!name.endsWith('.js')) continue;
  const text = await readFile(join(engine, name), 'utf8');
  for (const [, specifier] of text.matchAll(/(?:from|import)\s*\(?\s*'([^'.][^']*)'/g)) imported.add(specifier);
}
const dependencies = Object.fromEntries(Object.entries(repository.dependencies).filter(([name]) => imported.has(name)));

// web/engine/package.json says what the package offers; versions of dependencies stand in the repository's own file only.
const manifest = {
  ...JSON.parse(await readFile(join(engine, 'package.json'), 'utf8')),
  sideEffects: false,
  dependencies,
};
await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2) + '\n');
