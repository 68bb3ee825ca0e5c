// Loading over a network and a store that misbehave. Each case: what the caller gets, what is stored, what was asked for.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createStreamingHash } from '../../web/engine/hash.js';
import { hubRecord } from '../../web/engine/hub.js';
import { createSharedMemory } from '../../web/engine/memory.js';
import { createProgress } from '../../web/engine/progress.js';
import { LookbackError } from '../../web/engine/errors.js';
import { CHUNK_BYTES } from '../../web/engine/stored_file.js';
import { loadWeights } from '../../web/engine/weights.js';
import { send, sha256, startServer } from './support/bad_server.js';
import { createFakeModule } from './support/fake_module.js';
import { createMemoryStore } from './support/memory_store.js';

const servers = [];
after(() => Promise.all(servers.map((server) => server.close())));
const serve = async (handle) => {
  const server = await startServer(handle);
  servers.push(server);
  return server;
};

/** Five pieces and a bit, so that cuts fall between and inside pieces. */
const weights = Buffer.alloc(5 * CHUNK_BYTES + 12345);
for (let index = 0; index < weights.length; index += 997) weights[index] = (index * 31) & 0xff;
weights.write('GGUF', 0);

/** The weights as an engine sees them: what was fed, and where the load went wrong. */
async function load(
  url,
  {
    store = createMemoryStore(),
    options = {},
    signal = new AbortController().signal,
    format = 'gguf',
    tuning = {},
    source,
  } = {},
) {
  const { module, counts } = await createFakeModule({ format });
  const events = [];
  const fed = [];
  const result = await loadWeights({
    source: source ?? { weights: { kind: 'url', url } },
    options,
    environment: {
      paths: null,
      openStorage: async () => store,
      createHash: createStreamingHash,
      tuning: { tries: 3, backoffMs: 5, stallMs: 400, ...tuning },
    },
    createEngine: async () => {
      const { value: engine } = module.createEngine({ precision: 'exact', threads: 1 });
      fed.length = 0;
      let room;
      const { chunk, commit } = engine;
      engine.chunk = (n) => {
        const answer = chunk(n);
        room = answer.value;
        return answer;
      };
      engine.commit = (n) => {
        fed.push(Buffer.from(room.subarray(0, n)));
        return commit(n);
      };
      return engine;
    },
    signal,
    onProgress: (event) => events.push(event),
  }).finally(() => (load.last = { events, store, counts }));
  return { ...result, events, fed: Buffer.concat(fed), store, counts };
}
const fails = async (promise, code, pattern = /./) =>
  assert.rejects(
    promise,
    (error) => error instanceof LookbackError && error.code === code && pattern.test(error.message),
  );

/** Waits until the store's one file has so many pieces. */
async function stored(store, count) {
  while (([...store.files.values()][0]?.chunks.length ?? 0) < count)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

function checkProgress(events) {
  for (const phase of new Set(events.map((event) => event.phase))) {
    const own = events.filter((event) => event.phase === phase);
    own.forEach((event, index) => {
      assert.ok(event.total === null || event.loaded <= event.total, `${phase}: ${event.loaded} of ${event.total}`);
      assert.ok(index === 0 || event.loaded >= own[index - 1].loaded, `${phase} falls`);
    });
    assert.equal(own.at(-1).loaded, own.at(-1).total, `${phase} does not end at 1`);
  }
}

test('a good server: every byte reaches the engine once, is hashed, stored, and read from the store the next time', async () => {
  const server = await serve((request, response) => send(request, response, { bytes: weights }));
  const first = await load(server.url());
  assert.ok(first.fed.equals(weights));
  assert.equal(first.weights.sha256, sha256(weights));
  assert.equal(first.weights.bytes, weights.length);
  assert.equal(first.weights.verified, 'recorded');
  assert.equal(first.weights.stored, 'opfs');
  assert.equal(server.gets().length, 1);
  checkProgress(first.events);
  const second = await load(server.url(), { store: first.store });
  assert.ok(second.fed.equals(weights));
  assert.equal(second.weights.sha256, sha256(weights));
  assert.equal(server.gets().length, 1, 'the second load asked for bytes again');
  assert.ok(second.events.some(({ phase }) => phase === 'read-from-cache'));
  assert.ok(!second.events.some(({ phase }) => phase === 'download'));
  checkProgress(second.events);
});

test('offline after the first load: the stored copy serves', async () => {
  const server = await startServer((request, response) => send(request, response, { bytes: weights }));
  const url = server.url();
  const { store } = await load(url);
  await server.close();
  const again = await load(url, { store });
  assert.ok(again.fed.equals(weights));
});

test('404 with a web page: address, status and what it looks like; nothing stored; a good server later works', async () => {
  let good = false;
  const server = await serve((request, response) => {
    if (good) return send(request, response, { bytes: weights });
    response.writeHead(404, { 'Content-Type': 'text/html' }).end('<!DOCTYPE html><h1>Not here</h1>');
  });
  const store = createMemoryStore();
  await fails(load(server.url(), { store }), 'not_found', /weights\.gguf: HTTP 404, a web page \(.*DOCTYPE/);
  assert.equal(server.gets().length, 1, 'a 404 was asked again');
  assert.deepEqual(await store.list(), []);
  good = true;
  assert.ok((await load(server.url(), { store })).fed.equals(weights));
});

test('200 with the site’s page: said so; nothing stored', async () => {
  const server = await serve((request, response) =>
    send(request, response, { bytes: Buffer.from('\n<!doctype html><html><body>app</body></html>') }),
  );
  const store = createMemoryStore();
  await fails(
    load(server.url('/owner/name/blob/main/weights.gguf'), { store }),
    'wrong_content',
    /web page.*\/resolve\//,
  );
  assert.deepEqual(await store.list(), []);
});

test('a git-lfs pointer and a JSON error in the place of weights are named', async () => {
  for (const [body, pattern] of [
    ['version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n', /git-lfs pointer/],
    ['{"error":"Repository not found"}', /JSON.*Repository not found/],
  ]) {
    const server = await serve((request, response) => send(request, response, { bytes: Buffer.from(body) }));
    await fails(load(server.url()), 'wrong_content', pattern);
  }
});

test('cut at 40 % within one load: goes on from there, each byte asked for once', async () => {
  const cut = Math.floor(weights.length * 0.4);
  const server = await serve((request, response, count) =>
    send(request, response, { bytes: weights, cutAt: count === 1 ? cut : Infinity }),
  );
  const loaded = await load(server.url());
  assert.ok(loaded.fed.equals(weights));
  const [, second] = server.gets();
  assert.equal(server.gets().length, 2);
  assert.match(second.range, /^bytes=\d+-$/);
  assert.ok(Number(second.range.slice(6, -1)) > 0.3 * weights.length);
  assert.equal(second.ifRange, '"one"');
  checkProgress(loaded.events);
});

test('cut at 40 % and given up: the next visit goes on from what was stored', async () => {
  const cut = Math.floor(weights.length * 0.4);
  let healthy = false;
  const server = await serve((request, response, count) =>
    healthy || count === 1
      ? send(request, response, { bytes: weights, cutAt: healthy ? Infinity : cut })
      : response.destroy(),
  );
  const store = createMemoryStore();
  await fails(load(server.url(), { store }), 'network_error', /weights\.gguf/);
  const [part] = await store.list();
  assert.equal(part.complete, false);
  assert.equal(part.chunks.length, 2);
  healthy = true;
  const loaded = await load(server.url(), { store });
  assert.ok(loaded.fed.equals(weights));
  assert.equal(loaded.weights.sha256, sha256(weights));
  assert.equal(server.gets().at(-1).range, `bytes=${2 * CHUNK_BYTES}-`);
  checkProgress(loaded.events);
});

test('the file changed between the visits: the part is thrown away, nothing is mixed', async () => {
  const other = Buffer.from(weights);
  other.fill(7, 4, 100000);
  let etag = '"one"';
  let now = weights;
  const server = await serve((request, response, count) =>
    send(request, response, { bytes: now, etag, cutAt: count === 1 ? 3 * CHUNK_BYTES : Infinity }),
  );
  const store = createMemoryStore();
  const controller = new AbortController();
  const cutLoad = load(server.url(), { store, signal: controller.signal, tuning: { backoffMs: 5000 } });
  await stored(store, 1);
  controller.abort();
  await assert.rejects(cutLoad, { name: 'AbortError' });
  assert.ok((await store.list())[0].chunks.length > 0);
  [etag, now] = ['"two"', other];
  const loaded = await load(server.url(), { store });
  assert.ok(loaded.fed.equals(other));
  assert.equal(loaded.weights.sha256, sha256(other));
});

test('the file changes while it is read: the load starts anew, the engine sees one version', async () => {
  const other = Buffer.from(weights);
  other.fill(9, 4, 5000);
  const server = await serve((request, response, count) =>
    send(request, response, count === 1 ? { bytes: weights, cutAt: 1e6 } : { bytes: other, etag: '"two"' }),
  );
  const loaded = await load(server.url());
  assert.ok(loaded.fed.equals(other));
  checkProgress(loaded.events.filter(({ phase }) => phase !== 'download'));
});

test('a server that ignores Range sends all again: what is known is passed over', async () => {
  const server = await serve((request, response, count) =>
    send(request, response, { bytes: weights, ranges: false, cutAt: count === 1 ? 4e6 : Infinity }),
  );
  const loaded = await load(server.url());
  assert.ok(loaded.fed.equals(weights));
  assert.equal(loaded.weights.sha256, sha256(weights));
});

test('gzip, with a length and without: progress stays within 0 and 1 and ends at 1', async () => {
  for (const length of [true, false]) {
    const server = await serve((request, response) => send(request, response, { bytes: weights, gzip: true, length }));
    const loaded = await load(server.url());
    assert.ok(loaded.fed.equals(weights));
    checkProgress(loaded.events);
    assert.ok(
      loaded.events
        .filter(({ phase }) => phase === 'download')
        .slice(0, -1)
        .every(({ total }) => total === null),
    );
  }
});

test('no length at all: indeterminate until the end', async () => {
  const server = await serve((request, response) => send(request, response, { bytes: weights, length: false }));
  const loaded = await load(server.url());
  assert.ok(loaded.fed.equals(weights));
  checkProgress(loaded.events);
});

test('a silent server: asked again after the stall, then an error that says so', async () => {
  const slow = await serve((request, response, count) => {
    if (count > 1) return send(request, response, { bytes: weights });
    response.writeHead(200, { 'Content-Length': weights.length, ETag: '"one"' });
    response.write(weights.subarray(0, 100000));
  });
  assert.ok((await load(slow.url())).fed.equals(weights));
  const dead = await serve(() => {});
  await fails(
    load(dead.url(), { tuning: { stallMs: 60 } }),
    'network_error',
    /no answer within 0\.06 s, after 3 tries/,
  );
});

test('503 and then fine: retried; 503 for ever: the status is told', async () => {
  const server = await serve((request, response, count) =>
    count < 3 ? response.writeHead(503).end('busy') : send(request, response, { bytes: weights }),
  );
  assert.ok((await load(server.url())).fed.equals(weights));
  const never = await serve((request, response) => response.writeHead(503).end('busy'));
  await fails(load(never.url()), 'http_error', /HTTP 503.*busy.*3 tries/);
  assert.equal(never.gets().length, 3);
});

test('403 is not asked again', async () => {
  const server = await serve((request, response) => response.writeHead(403).end('no'));
  await fails(load(server.url()), 'http_error', /HTTP 403/);
  assert.equal(server.gets().length, 1);
});

test('a wrong hash is an error that names both; nothing stays stored', async () => {
  const server = await serve((request, response) => send(request, response, { bytes: weights }));
  const store = createMemoryStore();
  await fails(
    load(server.url(), { store, options: { sha256: '0'.repeat(64) } }),
    'hash_mismatch',
    new RegExp(`${sha256(weights)}.*0{64}`),
  );
  assert.deepEqual(await store.list(), []);
  const right = await load(server.url(), { store, options: { sha256: sha256(weights).toUpperCase() } });
  assert.equal(right.weights.verified, 'option');
});

test('a redirect is followed', async () => {
  const server = await serve((request, response) =>
    request.url === '/weights.gguf'
      ? response.writeHead(302, { Location: '/real.gguf' }).end()
      : send(request, response, { bytes: weights }),
  );
  assert.ok((await load(server.url())).fed.equals(weights));
});

test('a stored copy with a zeroed third is found out: only what is broken is fetched again', async () => {
  const server = await serve((request, response) => send(request, response, { bytes: weights }));
  const { store } = await load(server.url());
  const [file] = store.files.values();
  file.chunks[2].fill(0);
  file.chunks[3].fill(0);
  const healed = await load(server.url(), { store });
  assert.ok(healed.fed.equals(weights));
  assert.equal(healed.weights.sha256, sha256(weights));
  assert.equal(server.gets().at(-1).range, `bytes=${2 * CHUNK_BYTES}-`);
  const gets = server.gets().length;
  const after = await load(server.url(), { store });
  assert.ok(after.fed.equals(weights));
  assert.equal(server.gets().length, gets, 'the healed copy was not stored');
});

test('a stored copy whose source changed is fetched anew', async () => {
  const other = Buffer.from(weights);
  other.fill(3, 4, 99);
  let what = { bytes: weights };
  const server = await serve((request, response) => send(request, response, what));
  const { store } = await load(server.url());
  what = { bytes: other, etag: '"two"' };
  assert.ok((await load(server.url(), { store })).fed.equals(other));
});

test('a full store: the load goes on from memory and says why once', async () => {
  const server = await serve((request, response) => send(request, response, { bytes: weights }));
  const store = createMemoryStore({ failAfter: 3 * CHUNK_BYTES });
  const loaded = await load(server.url(), { store });
  assert.ok(loaded.fed.equals(weights));
  assert.equal(loaded.weights.stored, 'none');
  assert.match(loaded.weights.storedReason, /quota is used up/);
  assert.deepEqual(await store.list(), []);
});

test('an abort stops the download, keeps the part, and answers as AbortError', async () => {
  const server = await serve((request, response) => {
    response.writeHead(200, { 'Content-Length': weights.length, ETag: '"one"' });
    response.write(weights.subarray(0, 3 * CHUNK_BYTES + 99));
  });
  const store = createMemoryStore();
  const controller = new AbortController();
  const running = load(server.url(), { store, signal: controller.signal, tuning: { stallMs: 10000 } });
  await stored(store, 3);
  controller.abort();
  await assert.rejects(running, { name: 'AbortError', code: 'cancelled' });
  assert.equal((await store.list())[0].chunks.length, 3);
  assert.equal(load.last.counts.engines, 0);
});

// Shards

const cutIntoShards = (size) => {
  const shards = [];
  for (let at = 0; at < weights.length; at += size) shards.push(weights.subarray(at, at + size));
  const manifest = {
    name: 'weights.gguf',
    format: 'gguf',
    bytes: weights.length,
    sha256: sha256(weights),
    shards: shards.map((bytes, index) => ({
      url: `weights.gguf.00${index}`,
      bytes: bytes.length,
      sha256: sha256(bytes),
    })),
  };
  return { shards, manifest };
};

test('a manifest of shards: verified shard by shard, stored, read back, healed', async () => {
  const { shards, manifest } = cutIntoShards(3e6);
  let spoil = false;
  const server = await serve((request, response) => {
    const match = /\.00(\d)$/.exec(request.url);
    const bytes = match ? shards[match[1]] : Buffer.from(JSON.stringify(manifest));
    send(request, response, { bytes: spoil && match?.[1] === '1' ? Buffer.alloc(bytes.length) : bytes });
  });
  const url = server.url('/models/manifest.json');
  const first = await load(url);
  assert.ok(first.fed.equals(weights));
  assert.equal(first.weights.verified, 'manifest');
  assert.equal(first.weights.sha256, sha256(weights));
  checkProgress(first.events);
  const before = server.gets().length;
  const second = await load(url, { store: first.store });
  assert.ok(second.fed.equals(weights));
  assert.equal(server.gets().length, before + 1, 'more than the manifest was asked for');
  const [file] = first.store.files.values();
  file.chunks[2].fill(0);
  assert.ok((await load(url, { store: first.store })).fed.equals(weights));
  assert.ok((await load(url, { store: first.store })).fed.equals(weights));
  spoil = true;
  await fails(load(url), 'hash_mismatch', /\.001: the SHA-256/);
});

test('a manifest that cannot be true is named', async () => {
  for (const [change, pattern] of [
    [(manifest) => (manifest.bytes += 1), /shards hold/],
    [(manifest) => (manifest.shards[0].sha256 = 'x'), /shard 0 has no sha256/],
    [(manifest) => (manifest.shards = []), /shards is missing/],
    [(manifest) => (manifest.format = 'zip'), /format/],
  ]) {
    const { manifest } = cutIntoShards(3e6);
    change(manifest);
    const server = await serve((request, response) =>
      send(request, response, { bytes: Buffer.from(JSON.stringify(manifest)) }),
    );
    await fails(load(server.url('/manifest.json')), 'bad_manifest', pattern);
  }
});

test('safetensors without config.json or tokenizer.json: missing_config names both, before the weights are read', async () => {
  const server = await serve((request, response) => {
    if (!request.url.endsWith('.safetensors')) return response.writeHead(404).end();
    const bytes = Buffer.alloc(6 * CHUNK_BYTES, 1);
    bytes.writeBigUInt64LE(100n);
    send(request, response, { bytes });
  });
  await fails(
    load(server.url('/base/model.safetensors')),
    'missing_config',
    /base\/config\.json.*base\/tokenizer\.json/,
  );
  await fails(load(server.url('/base/onnx/model.safetensors')), 'missing_config');
  const bytes = new Uint8Array(1000).fill(1);
  await fails(
    load('', { source: { weights: { kind: 'blob', blob: new Blob([bytes]), name: 'model.safetensors' } } }),
    'missing_config',
    /not given/,
  );
});

// The hub

test('the hub’s record comes from its own headers, or from its API where a browser hides those', async () => {
  const hash = 'c0'.repeat(32);
  const withHeaders = await serve((request, response) =>
    response
      .writeHead(302, {
        Location: '/elsewhere',
        'X-Linked-ETag': `"${hash}"`,
        'X-Repo-Commit': 'd0ae683',
        'X-Linked-Size': '269',
      })
      .end(),
  );
  assert.deepEqual(await hubRecord(withHeaders.url('/owner/name/resolve/main/model.safetensors')), {
    sha256: hash,
    commit: 'd0ae683',
    bytes: 269,
  });
  const answers = {
    '/api/models/owner/name/tree/main/onnx': [{ path: 'onnx/model.onnx', size: 9, lfs: { oid: hash } }],
    '/api/models/owner/name/revision/main': { sha: 'abc' },
  };
  const api = await serve((request, response) => response.end(JSON.stringify(answers[request.url])));
  const opaque = (url, options) => (options.method === 'HEAD' ? { type: 'opaqueredirect' } : fetch(url, options));
  assert.deepEqual(await hubRecord(api.url('/owner/name/resolve/main/onnx/model.onnx'), { fetch: opaque }), {
    sha256: hash,
    commit: 'abc',
    bytes: 9,
  });
  const silent = await serve((request, response) => response.writeHead(500).end());
  assert.deepEqual(await hubRecord(silent.url('/owner/name/resolve/main/x.gguf')), {
    sha256: null,
    commit: null,
    bytes: null,
  });
  assert.deepEqual(await hubRecord(silent.url('/x.gguf')), { sha256: null, commit: null, bytes: null });
});

test('weights from the hub are verified against the hub’s own hash', async () => {
  let told = sha256(weights);
  const server = await serve((request, response) => {
    if (request.url === '/cdn') return send(request, response, { bytes: weights });
    response.writeHead(302, { Location: '/cdn', 'X-Linked-ETag': `"${told}"`, 'X-Repo-Commit': 'd0ae683' }).end();
  });
  const url = server.url('/owner/name/resolve/main/weights.gguf');
  const loaded = await load(url);
  assert.equal(loaded.weights.verified, 'hub');
  assert.equal(loaded.weights.commit, 'd0ae683');
  const again = await load(url, { store: loaded.store });
  assert.deepEqual([again.weights.verified, again.weights.commit], ['hub', 'd0ae683']);
  told = '1'.repeat(64);
  await fails(load(url), 'hash_mismatch');
});

// Small parts

test('progress: about ten calls a second, never falling, always a last one', () => {
  const told = [];
  let clock = 0;
  const progress = createProgress(
    (event) => told.push(event),
    () => clock,
  );
  for (let index = 0; index < 1000; index++, clock++) progress.add('download', 10, 5000);
  progress.finish('download');
  progress.finish('verify');
  assert.ok(told.length <= 12, String(told.length));
  assert.deepEqual(told.at(-1), { phase: 'download', loaded: 10000, total: 10000 });
  assert.ok(told.every(({ loaded, total }) => total === null || loaded <= total));
});

test('shared memory is asked for by need, and with less when refused', () => {
  assert.deepEqual(createSharedMemory(1, 1e8), {});
  const asked = [];
  const refuseAbove = (pages) => (descriptor) => {
    asked.push(descriptor.maximum);
    if (descriptor.maximum > pages) throw new RangeError('could not allocate memory');
    return descriptor;
  };
  const { wasmMemory } = createSharedMemory(2, 98e6, refuseAbove(8000));
  assert.ok(wasmMemory.maximum <= 8000 && wasmMemory.shared);
  assert.ok(asked.length > 1 && asked[0] > asked[1]);
  assert.throws(() => createSharedMemory(2, 98e6, refuseAbove(10)), /could not allocate/);
});
