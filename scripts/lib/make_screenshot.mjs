// make_screenshot.mjs: web/screenshot.png, the picture in README.md, of the built site (scripts/build first) in Chromium.
import puppeteer from 'puppeteer-core';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serveFolder } from './static_server.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const site = await serveFolder({ folder: join(root, 'dist', 'site') });
const browser = await puppeteer.launch({
  executablePath: process.env.LOOKBACK_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
});
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 1000 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  await page.goto(site.url);
  await page.waitForFunction(() => document.documentElement.dataset.state === 'ready', { timeout: 120000 });
  await page.waitForFunction(() => !('busy' in document.documentElement.dataset), { timeout: 30000 });
  await page.screenshot({ path: join(root, 'web', 'screenshot.png') });
} finally {
  await browser.close();
  await site.close();
}
