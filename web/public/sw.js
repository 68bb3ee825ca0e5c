// Keeps the page's own files, so that a later visit works offline. Weights are not its business: the engine keeps those itself.
// Pages come from the network while there is one; files whose names carry a hash never change and come from the store.

const CACHE = 'lookback-page';
const HASHED = /\/assets\/[\w.-]+-[\w-]{8}\.\w+$/;
/** Names of bundled files as they stand inside pages and scripts. */
const NAMES = /[\w.-]+-[\w-]{8}\.(?:js|css|wasm|json|svg)\b/g;
const PAGES = ['./', 'by-hand.html'];

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

/** Fetches both pages and every bundled file that they name, directly or through another. Old builds' files go. */
async function keepAll() {
  const cache = await caches.open(CACHE);
  const wanted = new Set();
  const queue = PAGES.map((page) => new URL(page, self.registration.scope).href);
  while (queue.length > 0) {
    const url = queue.pop();
    if (wanted.has(url)) continue;
    wanted.add(url);
    let response = HASHED.test(url) ? await cache.match(url) : undefined;
    if (!response) {
      response = await fetch(url);
      if (!response.ok) continue;
      await cache.put(url, response.clone());
    }
    if (!/html|javascript|css/.test(response.headers.get('Content-Type') ?? '')) continue;
    for (const [name] of (await response.text()).matchAll(NAMES)) queue.push(new URL(`assets/${name}`, self.registration.scope).href);
  }
  for (const request of await cache.keys()) if (!wanted.has(request.url)) await cache.delete(request);
}

self.addEventListener('message', (event) => {
  if (event.data !== 'keep') return;
  event.waitUntil(
    keepAll().then(
      () => event.source?.postMessage('kept'),
      () => {}, // The network went away in between: the next visit tries again.
    ),
  );
});

async function fromNetwork(request) {
  const cache = await caches.open(CACHE);
  try {
    return await fetch(request);
  } catch (error) {
    const url = new URL(request.url);
    const kept = (await cache.match(`${url.origin}${url.pathname}`)) ?? (await cache.match(new URL(url.pathname.replace(/index\.html$/, ''), url).href));
    if (kept) return kept;
    throw error;
  }
}

async function fromStore(request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(request.url)) ?? fetch(request);
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== self.location.origin) return;
  if (request.mode === 'navigate') event.respondWith(fromNetwork(request));
  else if (HASHED.test(request.url)) event.respondWith(fromStore(request));
});
