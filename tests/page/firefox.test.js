// The main flows in Firefox, over WebDriver BiDi.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import {
  launch,
  serveSite,
  openPage,
  goReady,
  andPass,
  settled,
  scoreTable,
  nextTokens,
  reference,
  near,
  hash,
} from './support/browser.mjs';

let site, firefox, page;
const words = reference('forward_words.json');
const causal = reference('causal_words.json');

before(async () => {
  site = await serveSite();
  firefox = await launch({ browser: 'firefox' });
  ({ page } = await openPage(firefox.browser));
  await goReady(page, `${site.url}${hash({ text: words.text, layer: 17, head: 4, token: 13 })}`);
});
after(async () => {
  await firefox?.close();
  await site?.close();
});

test('the table and the next tokens hold the reference', async () => {
  const row = words.attention_rows.find((r) => r.layer === 17 && r.head === 4 && r.pos === 13);
  const table = await scoreTable(page);
  row.share.forEach((share, k) => near(table[k].share, share, 2e-5, `share of ${k}`));
  row.qk.forEach((qk, k) => near(table[k].qk, qk, 2e-3, `query·key of ${k}`));
  const [first] = await nextTokens(page);
  near(first.probability, causal.clean.prob, 1e-5, 'cloud');
});

test('tap, head off, undo', async () => {
  await page.click('[data-token="5"]');
  await settled(page);
  assert.match(await page.$eval('#scores h2 + p', (e) => e.textContent), /token 5, pinned/);
  await page.click('[data-token="13"]');
  await settled(page);
  const clean = await nextTokens(page);
  await andPass(page, () => page.click('[data-action="switch-head"]'));
  near(
    await page.$eval('[data-moment="after"]', (e) => Number(e.dataset.value)),
    causal.head_off.prob[17][4],
    1e-5,
    'after',
  );
  await page.click('[data-action="undo"]');
  await page.waitForFunction(() => !document.querySelector('[data-moment="after"]'));
  await settled(page);
  assert.deepEqual(await nextTokens(page), clean);
});

test('any text in the address comes back', async () => {
  const text = 'Hi 😀 100% #1\nשלום & x';
  await andPass(page, () => page.evaluate((to) => (location.hash = to), hash({ text, layer: 0, head: 0, token: 0 })));
  assert.equal(await page.$eval('#prompt', (e) => e.value), text);
  assert.equal(await page.$eval('[data-token="0"]', (b) => b.getAttribute('aria-pressed')), 'true');
  assert.equal(new URLSearchParams(await page.evaluate(() => location.hash.slice(1))).get('text'), text);
});
