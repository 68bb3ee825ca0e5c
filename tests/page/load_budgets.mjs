// How long the shipped weights take to load and how much memory the renderer takes at most: a measurement for a person, on a
// machine that has little else to do; no part of the tests. After scripts/build:
//   node tests/page/load_budgets.mjs [VISITS] [MB_PER_S]      visits of each kind (3); the server's speed (unlimited)
//
// first visit   from the server's last byte of weights to `ready`, empty cache
// second visit  from the navigation to `ready`, weights from storage
// memory        the peak of the renderer's resident set (VmHWM of /proc/PID/status, so on Linux alone), its worker included
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { launch, serveSite, SITE } from './support/browser.mjs';

const visits = Number(process.argv[2] ?? 3);
const bytesPerSecond = Number(process.argv[3] ?? Infinity) * 1e6;
const BUDGETS = { first: 1.0, second: 0.8, peak: 350 };

/** Shards go out at the asked speed; when the last byte of the last one went out is written down. */
let sent = { bytes: 0, lastAt: 0 };
const site = await serveSite({
  answer(path, request, response) {
    if (!/^\/models\/.*\.\d{3}$/.test(path) || request.method !== 'GET') return false;
    const file = join(SITE, path);
    response.writeHead(200, { 'Content-Length': statSync(file).size, 'Content-Type': 'application/octet-stream' });
    const stream = createReadStream(file, { highWaterMark: 1 << 18 });
    stream.on('data', (chunk) => {
      sent.bytes += chunk.length;
      if (!response.write(chunk) || bytesPerSecond !== Infinity) {
        stream.pause();
        const drained = response.writableNeedDrain ? new Promise((done) => response.once('drain', done)) : null;
        const slow = new Promise((done) => setTimeout(done, (chunk.length / bytesPerSecond) * 1000));
        Promise.all([drained, slow]).then(() => stream.resume());
      }
    });
    stream.on('end', () => response.end(() => (sent.lastAt = Date.now())));
    return true;
  },
});

/** Peak resident set, now and of the renderer's whole life, in MB. @param {number} pid */
function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (/** @type {string} */ name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return { peak: kilobytes('VmHWM') / 1024, now: kilobytes('VmRSS') / 1024 };
}

/** The process that shows this page. @param {import('puppeteer-core').Browser} browser */
async function rendererOf(browser) {
  const cdp = await browser.target().createCDPSession();
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
  await cdp.detach();
  // The one that has worked most shows the page; a spare one may wait beside it.
  const renderers = processInfo.filter((/** @type {any} */ each) => each.type === 'renderer');
  return renderers.sort((/** @type {any} */ a, /** @type {any} */ b) => b.cpuTime - a.cpuTime)[0].id;
}

/**
 * A tab without puppeteer's page, which would make the renderer keep every answer of the network for it to look at.
 * @param {import('puppeteer-core').Browser} browser
 */
async function openTab(browser) {
  const root = await browser.target().createCDPSession();
  const { targetId } = await root.send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await root.send('Target.attachToTarget', { targetId, flatten: true });
  const tab = root.connection().session(sessionId);
  const evaluate = async (/** @type {string} */ expression) =>
    (await tab.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })).result.value;
  return { tab, evaluate, close: () => root.send('Target.closeTarget', { targetId }) };
}

const NOTE_READY = `new MutationObserver((_changes, observer) => {
  if (document.documentElement?.dataset.state !== 'ready') return;
  window.readyAt = performance.timeOrigin + performance.now();
  observer.disconnect();
}).observe(document, { attributes: true, subtree: true, attributeFilter: ['data-state'] });`;

/** Opens the page in a new tab and waits until it is ready. */
async function visit(browser, url) {
  const { tab, evaluate, close } = await openTab(browser);
  await tab.send('Page.enable');
  await tab.send('Page.addScriptToEvaluateOnNewDocument', { source: NOTE_READY });
  sent = { bytes: 0, lastAt: 0 };
  await tab.send('Page.navigate', { url });
  const from = Date.now();
  let readyAt;
  while (readyAt === undefined) {
    await new Promise((done) => setTimeout(done, 100));
    readyAt = await evaluate('window.readyAt').catch(() => undefined);
    if (Date.now() - from > 60000) throw new Error(`not ready: ${await evaluate('document.body.textContent')}`);
  }
  const memory = memoryOf(await rendererOf(browser));
  const { begun, about } = await evaluate(
    '({ begun: performance.timeOrigin, about: document.querySelector("#weights").textContent })',
  );
  await close();
  return { readyAt, begun, about, memory, sent };
}

const rows = [];
const emptyPages = [];
for (let count = 0; count < visits; count++) {
  const load = loadavg()[0];
  const chrome = await launch({ unwatched: true });
  await openTab(chrome.browser);
  emptyPages.push(memoryOf(await rendererOf(chrome.browser)).peak);
  const first = await visit(chrome.browser, site.url);
  const second = await visit(chrome.browser, site.url);
  rows.push({
    'first: last byte → ready': (first.readyAt - first.sent.lastAt) / 1000,
    'first: navigation → ready': (first.readyAt - first.begun) / 1000,
    'first: peak MB': first.memory.peak,
    'second: navigation → ready': (second.readyAt - second.begun) / 1000,
    'second: peak MB': second.memory.peak,
    'second: weights over the network, bytes': second.sent.bytes,
    'load of the machine': load,
  });
  await chrome.close();
}
await site.close();

const best = (/** @type {string} */ name) => Math.min(...rows.map((row) => row[name]));
console.table(
  rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, +value.toFixed(2)]))),
);
const line = (
  /** @type {string} */ what,
  /** @type {number} */ value,
  /** @type {string} */ unit,
  /** @type {number} */ most,
) => console.log(`${what}: ${value.toFixed(2)} ${unit} (budget ${most}) ${value <= most ? 'kept' : 'MISSED'}`);
console.log(`best of ${visits}, server ${bytesPerSecond === Infinity ? 'unlimited' : `${bytesPerSecond / 1e6} MB/s`}:`);
line('last byte → ready', best('first: last byte → ready'), 's', BUDGETS.first);
line('second visit', best('second: navigation → ready'), 's', BUDGETS.second);
line('peak memory, first visit', best('first: peak MB'), 'MB', BUDGETS.peak);
line('peak memory, second visit', best('second: peak MB'), 'MB', BUDGETS.peak);
line(
  'weights over the network, second visit',
  Math.max(...rows.map((row) => row['second: weights over the network, bytes'])),
  'bytes',
  0,
);
console.log(`an empty page: ${Math.min(...emptyPages).toFixed(0)} MB`);
