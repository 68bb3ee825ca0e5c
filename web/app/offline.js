// Owns: asking the service worker to keep the page's files, once the weights are in and nothing else wants the network. Touches store only.

/** @param {{state: any, subscribe: (f: (s: any) => void) => () => void}} store @param {string} page */
export function keepForOffline(store, page) {
  // Sources served unbundled have no worker beside them; old or locked browsers have no such storage. Neither is a fault.
  // @ts-expect-error env is put there by the bundler
  const bundled = import.meta.env?.PROD;
  if (!('serviceWorker' in navigator) || !bundled) return;
  const stop = store.subscribe(async (s) => {
    if (s.load.status !== 'ready') return;
    stop();
    try {
      await navigator.serviceWorker.register(new URL('sw.js', page), { scope: new URL('./', page).pathname });
      const { active } = await navigator.serviceWorker.ready;
      navigator.serviceWorker.addEventListener('message', (event) => {
        if (event.data === 'kept') document.documentElement.dataset.offline = 'ready';
      });
      navigator.serviceWorker.startMessages();
      active?.postMessage('keep');
    } catch {
      // Not kept: the page needs the network next time.
    }
  });
}
