// Opens the built site in a real browser. Every test fails when the site is not built or the browser is missing: nothing is skipped.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { startServer } from './static_server.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
/** Another built site can be named, to test a copy of it. */
export const SITE = process.env.LOOKBACK_SITE ?? at('../../../dist/site');
export const DATA = at('../../data/reference');

export const reference = (name) => JSON.parse(readFileSync(join(DATA, name), 'utf8'));

const firstThatExists = (paths) => paths.find((p) => existsSync(p));
const CHROMIUM = firstThatExists(['/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser']);
const FIREFOX = firstThatExists(['/usr/bin/firefox-esr', '/usr/bin/firefox']);

const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** @param {{browser?: 'chrome'|'firefox', unwatched?: boolean}} [options]   unwatched: puppeteer leaves the tabs alone */
export async function launch({ browser = 'chrome', unwatched = false } = {}) {
  const executablePath = browser === 'chrome' ? CHROMIUM : FIREFOX;
  assert.ok(executablePath, `${browser} is not installed`);
  const userDataDir = mkdtempSync(join(tmpdir(), 'lookback-page-'));
  const opened = await puppeteer.launch({
    browser,
    executablePath,
    headless: true,
    userDataDir,
    args: browser === 'chrome' ? CHROMIUM_FLAGS : [],
    protocolTimeout: 180000,
    ...(unwatched ? { targetFilter: (target) => target.type() === 'browser', waitForInitialPage: false } : {}),
  });
  return {
    browser: opened,
    async close() {
      await opened.close();
      rmSync(userDataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** @param {Partial<Parameters<typeof startServer>[0]>} [options] */
export function serveSite(options = {}) {
  assert.ok(existsSync(join(SITE, 'index.html')), `the site is not built: ${SITE}`);
  return startServer({
    root: SITE,
    mounts: { '/tiny': join(DATA, 'tiny'), '/malformed': join(DATA, 'malformed') },
    ...options,
  });
}

/** @param {Record<string, any>} view @returns {string} */
export const hash = (view) => `#${new URLSearchParams(view)}`;

/**
 * A page that remembers what went wrong in it.
 * @param {import('puppeteer-core').Browser} browser
 */
export async function openPage(browser, { width = 1280, height = 900, touch = false, theme = 'light' } = {}) {
  const page = await browser.newPage();
  /** @type {string[]} */
  const wrong = [];
  /** @type {string[]} */
  const hosts = [];
  page.on('pageerror', (error) => wrong.push(`${error.message ?? error}`));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  page.on('request', (request) => hosts.push(request.url()));
  await page.setViewport({ width, height, hasTouch: touch, isMobile: touch });
  try {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
  } catch {
    // Firefox's protocol has no such emulation; its tests do not look at colours.
  }
  return { page, wrong, hosts };
}

const READY_MS = 120000;

/** Goes there and waits until the weights are in and the first pass is done. */
export async function goReady(page, url) {
  await page.goto(url);
  await waitState(page, 'ready');
  await settled(page);
}

export async function waitState(page, state) {
  await page.waitForFunction(
    (wanted) => document.documentElement.dataset.state === wanted,
    { timeout: READY_MS },
    state,
  );
}

/** Nothing is waited for any more: no view shows older numbers than it was asked for, names are written, and the address holds the view. */
export async function settled(page) {
  await page.waitForFunction(
    () => !['busy', 'naming', 'addressBehind'].some((waited) => waited in document.documentElement.dataset),
    { timeout: READY_MS },
  );
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Finished passes so far. */
export const passes = (page) => page.evaluate(() => Number(document.documentElement.dataset.pass ?? 0));

/** Does something that runs the model, and waits for the new pass. */
export async function andPass(page, act) {
  const before = await passes(page);
  await act();
  await page.waitForFunction((n) => Number(document.documentElement.dataset.pass) > n, { timeout: READY_MS }, before);
  await settled(page);
}

/** The score table as it stands. */
export const scoreTable = (page) =>
  page.$$eval('table[data-view="scores"] tr[data-position]', (rows) =>
    rows.map((row) => {
      const cell = (name) => row.querySelector(`td[data-column="${name}"]`);
      const value = (name) => (cell(name).dataset.value === undefined ? null : Number(cell(name).dataset.value));
      return {
        position: Number(row.dataset.position),
        token: row.querySelector('th').textContent,
        qk: value('qk'),
        scaled: value('scaled'),
        share: value('share'),
        text: cell('share').textContent,
      };
    }),
  );

/** The next-token list as it stands. */
export const nextTokens = (page) =>
  page.$$eval('[data-view="next"] [data-id]', (items) =>
    items.map((i) => ({ id: Number(i.dataset.id), probability: Number(i.dataset.value) })),
  );

export const params = async (page) => new URLSearchParams(await page.evaluate(() => location.hash.slice(1)));

/** Waits until the address holds a value. */
export const waitParam = (page, name, value) =>
  page.waitForFunction(
    (n, v) => new URLSearchParams(location.hash.slice(1)).get(n) === v,
    { timeout: 10000 },
    name,
    value,
  );

export const near = (actual, expected, tolerance, what) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected} ± ${tolerance}`);
