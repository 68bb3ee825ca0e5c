// A client over a dispatcher over a fake module, all in this thread.
import { Client } from '../../../web/engine/client.js';
import { createDispatcher } from '../../../web/engine/dispatcher.js';
import { createStreamingHash } from '../../../web/engine/hash.js';
import { noStore } from '../../../web/engine/storage.js';
import { createFakeModule } from './fake_module.js';

export const features = { simd128: true, relaxed: false, sharedMemory: false, isolated: true, cores: 2 };

/** @param {object} [environment] */
export async function openFake({ fake = {}, answerMs = 0, ...environment } = {}) {
  const { module, counts } = await createFakeModule(fake);
  /** @type {any[]} */
  const posted = [];
  let listener = () => {};
  const dispatcher = createDispatcher({
    probe: async () => features,
    loadModule: async () => module,
    paths: null,
    openStorage: async () => noStore('none in tests'),
    createHash: createStreamingHash,
    post: (message) => {
      posted.push(message);
      if (answerMs) setTimeout(() => listener(message), answerMs);
      else queueMicrotask(() => listener(message));
    },
    ...environment,
  });
  const port = {
    post: (message) => dispatcher.receive(message),
    onMessage: (next) => (listener = next),
    onDeath: (next) => (port.die = next),
    close: () => dispatcher.close(),
    die: null,
  };
  return { client: new Client(port), dispatcher, port, posted, counts };
}

/** Bytes that look like a GGUF file. */
export const fakeWeights = () => {
  const bytes = new Uint8Array(5000).map((_, index) => (index * 7) % 251);
  bytes.set([0x47, 0x47, 0x55, 0x46]);
  return bytes;
};

/** @param {Client} client */
export const loadFake = (client, options = {}) =>
  client.request('load', {
    source: { weights: { kind: 'blob', blob: new Blob([fakeWeights()]), name: 'fake.gguf' } },
    options,
  });
