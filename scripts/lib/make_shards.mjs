// make_shards.mjs WEIGHTS FOLDER: cuts a weights file into shards that static hosts accept (8 MiB each: some refuse files over
// 25 MiB, and a shard is in memory whole) and writes the manifest that web/engine/manifest.js describes. Shards and hashes that are there already are kept.
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';

const SHARD_BYTES = 8 * 1024 * 1024;
const FORMATS = { '.gguf': 'gguf', '.safetensors': 'safetensors', '.onnx': 'onnx' };

const [weights, folder] = process.argv.slice(2);
if (!weights || !folder) {
  console.error('usage: make_shards.mjs WEIGHTS FOLDER');
  process.exit(2);
}
const name = basename(weights);
const manifestPath = join(folder, 'manifest.json');
const { size, mtimeMs } = await stat(weights);

// The source's size and time are kept beside the shards, not in the manifest: they are nobody's business on the site.
const stampPath = join(folder, '..', `.${name}.stamp`);
const stamp = `${size} ${mtimeMs} ${SHARD_BYTES}`;
if ((await readFile(stampPath, 'utf8').catch(() => '')) === stamp) process.exit(0);

// New files, never the old ones written over: a built site may hold links to those.
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const whole = createHash('sha256');
const shards = [];
const file = await open(weights);
for (let offset = 0, index = 0; offset < size; offset += SHARD_BYTES, index++) {
  const bytes = Buffer.alloc(Math.min(SHARD_BYTES, size - offset));
  await file.read(bytes, 0, bytes.length, offset);
  whole.update(bytes);
  const url = `${name}.${String(index).padStart(3, '0')}`;
  await writeFile(join(folder, url), bytes);
  shards.push({ url, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
}
await file.close();
const manifest = { name, format: FORMATS[extname(name)], bytes: size, sha256: whole.digest('hex'), shards };
await writeFile(manifestPath, JSON.stringify(manifest, null, 1) + '\n');
await writeFile(stampPath, stamp);
