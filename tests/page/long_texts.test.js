// Texts of hundreds and thousands of tokens: what is drawn, what can be reached, what stays. Their times are in budgets.mjs.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch, serveSite, openPage, goReady, settled, andPass, hash, params } from './support/browser.mjs';
import { longText } from './support/long_text.mjs';

let site, chrome, page, wrong;
before(async () => {
  site = await serveSite();
  chrome = await launch();
  ({ page, wrong } = await openPage(chrome.browser));
  await goReady(page, site.url);
});
after(async () => {
  await chrome?.close();
  await site?.close();
});

const show = (view) => andPass(page, () => page.evaluate((to) => (location.hash = to), hash(view)));

test('a long table draws what is on screen, and every row can be reached', async () => {
  await show({ text: longText(512), layer: 17, head: 4, token: 100 });
  const count = await page.$$eval('[data-token]', (n) => n.length);
  assert.ok(count > 480 && count < 600, `${count} tokens`);
  const rows = () => page.$$eval('tr[data-position]', (r) => r.map((x) => Number(x.dataset.position)));
  const first = await rows();
  assert.ok(first.length < 120 && first[0] === 0, `${first.length} rows`);
  for (const y of [4000, 1e6]) {
    const last = (await rows()).pop();
    await page.evaluate((to) => document.querySelector('.scores-scroll').scrollTo(0, to), y);
    await page.waitForFunction(
      (than) => Number([...document.querySelectorAll('tr[data-position]')].pop()?.dataset.position) > than,
      {},
      last,
    );
  }
  assert.equal((await rows()).pop(), count - 1);
});

/** The colours of a chip's two bands, from the canvas that lies over the chips. */
const bands = (indices) =>
  page.evaluate((wanted) => {
    const canvas = document.querySelector('canvas.shades');
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    return wanted.map((i) => {
      const chip = document.querySelector(`button[data-token="${i}"]`);
      const x = (chip.offsetLeft + chip.offsetWidth / 2) * scale;
      return [chip.offsetTop + 4, chip.offsetTop + chip.offsetHeight - 4].map((y) => [
        ...pen.getImageData(Math.round(x), Math.round(y * scale), 1, 1).data,
      ]);
    });
  }, indices);

test('chips of a long text are shaded where they stand, whatever the width, and not where no look can be', async () => {
  const CLEAR = [0, 0, 0, 0];
  for (const width of [1280, 700]) {
    await page.setViewport({ width, height: 900 });
    await page.evaluate(() => document.querySelector('[data-token="200"]').click());
    await settled(page);
    const [first, before, at, later] = await bands([0, 199, 200, 300]);
    assert.equal(first[0][3], 255, `${width}: the pinned word looks at the first`);
    assert.deepEqual(first[1], CLEAR, 'the first word looks at no later one');
    assert.equal(before[0][3], 255);
    assert.ok(at[0][3] === 255 && at[1][3] === 255, 'a word looks at itself');
    assert.deepEqual(at[0], at[1]);
    assert.deepEqual(later[0], CLEAR, 'the pinned word looks at no later one');
    assert.equal(later[1][3], 255);
    await page.evaluate(() => document.querySelector('[data-token="200"]').click());
    await settled(page);
  }
  await page.setViewport({ width: 1280, height: 900 });
});

test('2,048 tokens can be used: a pin far up stays while one scrolls and moves away', async () => {
  await show({ text: longText(1990), layer: 3, head: 1, token: 3 });
  await page.hover('[data-layer="9"][data-head="2"]');
  await settled(page);
  await page.mouse.move(5, 5);
  await page.evaluate(() => document.querySelector('.strip').scrollTo(0, 1e6));
  await settled(page);
  assert.equal(await page.$eval('[data-token="3"]', (b) => b.getAttribute('aria-pressed')), 'true');
  assert.match(await page.$eval('#scores h2 + p', (e) => e.textContent), /^Layer 3, head 1 · token 3, pinned/);
  assert.equal((await params(page)).get('token'), '3');
  assert.deepEqual(wrong, []);
});
