// Hands, eyes and screens: axe in both themes and widths, keyboard alone, touch, narrow screens, reduced motion.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { launch, serveSite, openPage, goReady, settled, andPass, waitParam, hash } from './support/browser.mjs';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const words =
  'Words: orange piano seven cloud ladder violet engine marble. orange piano seven cloud ladder violet engine marble';

let site, chrome;
before(async () => {
  site = await serveSite();
  chrome = await launch();
});
after(async () => {
  await chrome?.close();
  await site?.close();
});

const openAll = (page) => page.$$eval('details', (all) => all.forEach((d) => (d.open = true)));

async function axe(page, what) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() =>
    // @ts-ignore
    window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }),
  );
  const found = violations.map(
    (v) =>
      `${v.id}: ${v.nodes
        .slice(0, 3)
        .map((n) => `${n.html.slice(0, 140)} ${n.failureSummary ?? ''}`)
        .join(' | ')}`,
  );
  assert.deepEqual(found, [], what);
}

for (const theme of ['light', 'dark']) {
  for (const width of [1280, 360]) {
    test(`axe finds nothing: ${theme}, ${width} px, every panel open, then each dialog`, async () => {
      const { page, wrong } = await openPage(chrome.browser, { width, theme, touch: width === 360 });
      try {
        await goReady(page, `${site.url}${hash({ text: words, layer: 17, head: 4, token: 13, off: '2.1' })}`);
        await openAll(page);
        await page.click('tr[data-position="5"] .row-open');
        await settled(page);
        await axe(page, 'the page');
        for (const label of ['Change weights', 'Save…', 'Enlarge']) {
          await page.evaluate(
            (text) => [...document.querySelectorAll('button')].find((b) => b.textContent === text).click(),
            label,
          );
          await axe(page, label);
          await page.keyboard.press('Escape');
        }
        assert.ok(
          await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth),
          'no sideways scroll',
        );
        assert.deepEqual(wrong, []);
      } finally {
        await page.close();
      }
    });
  }
}

test('what can be tapped is at least 28 px, at 360 px', async () => {
  const { page } = await openPage(chrome.browser, { width: 360, touch: true });
  try {
    await goReady(page, `${site.url}${hash({ text: 'a b. c', layer: 0, head: 0 })}`);
    await openAll(page);
    await settled(page);
    const small = await page.$$eval('button, select, summary, input:not([type="file"]), textarea', (all) =>
      all
        .filter((e) => e.checkVisibility() && !e.matches('label input'))
        .map((e) => [e, e.getBoundingClientRect()])
        .filter(([, b]) => b.width < 28 || b.height < 28)
        .map(([e, b]) => `${e.outerHTML.slice(0, 90)} ${b.width}×${b.height}`),
    );
    assert.deepEqual(small, []);
  } finally {
    await page.close();
  }
});

test('by keyboard alone: words, heads, rows, undo; every move is said', async () => {
  const { page } = await openPage(chrome.browser);
  try {
    await goReady(page, `${site.url}${hash({ text: words, layer: 17, head: 4, token: 13 })}`);
    const focused = () =>
      page.evaluate(() => {
        const { ariaLabel, textContent, title } = document.activeElement;
        return ariaLabel ?? (textContent || title); // the accessible name, as browsers take it
      });
    const tabTo = async (selector) => {
      for (let i = 0; i < 80; i++) {
        if (await page.evaluate((s) => document.activeElement.matches(s), selector)) return;
        await page.keyboard.press('Tab');
      }
      assert.fail(`Tab never reaches ${selector}`);
    };
    await page.focus('#prompt');
    await tabTo('[data-token]');
    assert.match(await focused(), /^seven, token 13, pinned/);
    await page.keyboard.press('ArrowRight');
    await settled(page);
    assert.match(await focused(), /^cloud, token 14: the word shown, is looked at [<\d.]+/);
    assert.match(await page.$eval('#scores h2 + p', (e) => e.textContent), /token 14, preview/);
    await page.keyboard.press('Enter');
    await waitParam(page, 'token', '14');
    await page.waitForFunction(
      () => /cloud, token 14, pinned; layer 17, head 4 looks at/.test(document.querySelector('#live').textContent),
      { timeout: 5000 },
    );
    await page.keyboard.press('Home');
    await page.keyboard.press('Space');
    await waitParam(page, 'token', '0');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await waitParam(page, 'token', '18');
    await page.keyboard.press('Escape');
    await waitParam(page, 'token', null);

    await tabTo('[data-layer]');
    assert.match(await focused(), /^layer 17, head 4: /);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await waitParam(page, 'layer', '18');
    await waitParam(page, 'head', '5');
    assert.equal(await page.evaluate(() => document.querySelector('#live').getAttribute('aria-live')), 'polite');

    await tabTo('.row-open');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.products [data-slot="63"]');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-expanded')), 'true');
    await tabTo('[data-action="switch-head"]');
    await andPass(page, () => page.keyboard.press('Enter'));
    await tabTo('[data-action="undo"]');
    await page.keyboard.press('Enter');
    await waitParam(page, 'off', null);

    // Focus can be seen wherever it is.
    await page.focus('[data-token="3"]');
    await page.keyboard.press('ArrowRight');
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none');
  } finally {
    await page.close();
  }
});

test('by touch: a tap pins and previews nothing, the strip stays in reach', async () => {
  const { page } = await openPage(chrome.browser, { width: 360, height: 740, touch: true });
  try {
    await goReady(page, `${site.url}${hash({ text: words, layer: 17, head: 4 })}`);
    await page.tap('[data-token="3"]');
    await waitParam(page, 'token', '3');
    await settled(page);
    assert.match(await page.$eval('#scores h2 + p', (e) => e.textContent), /token 3, pinned/);
    await page.evaluate(() => document.querySelector('#atlas').scrollIntoView());
    const top = await page.$eval('#strip', (e) => e.getBoundingClientRect().top);
    assert.ok(top >= -1 && top < 60, `the strip is at ${top} px`);
    await page.tap('[data-token="3"]');
    await waitParam(page, 'token', null);
    await page.tap('[data-layer="5"][data-head="2"]');
    await waitParam(page, 'layer', '5');
  } finally {
    await page.close();
  }
});

test('the theme follows the system, or the reader, and is remembered', async () => {
  const { page } = await openPage(chrome.browser, { theme: 'dark' });
  try {
    await goReady(page, `${site.url}${hash({ text: 'hi', model: 'tiny/tiny-F32.gguf' })}`);
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.select('#theme', 'light');
    assert.notEqual(await ground(), dark);
    await page.reload();
    assert.notEqual(await ground(), dark);
    await page.waitForSelector('#theme');
    await page.select('#theme', '');
    assert.equal(await ground(), dark);
  } finally {
    await page.close();
  }
});

test('with reduced motion nothing moves', async () => {
  const { page } = await openPage(chrome.browser);
  try {
    await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }]);
    await goReady(page, `${site.url}${hash({ text: 'hi', model: 'tiny/tiny-F32.gguf' })}`);
    const moving = await page.$$eval(
      '*',
      (all) =>
        all.filter((e) => {
          const s = getComputedStyle(e);
          return (
            s.animationName !== 'none' ||
            (s.transitionDuration !== '0s' && s.transitionProperty !== 'none' && s.transitionProperty !== 'all')
          );
        }).length,
    );
    assert.equal(moving, 0);
  } finally {
    await page.close();
  }
});

test('both pages lead to each other at the matching place', async () => {
  const { page, wrong } = await openPage(chrome.browser);
  try {
    await goReady(page, site.url);
    await openAll(page);
    const links = await page.$$eval('a[href*="by-hand.html#"]', (all) =>
      all.map((a) => ({
        anchor: new URL(a.href).hash.slice(1),
        panel: a.closest('[data-panel]')?.getAttribute('data-panel') ?? a.closest('[id]')?.id,
        height: a.getBoundingClientRect().height,
      })),
    );
    const placed = Object.fromEntries(links.map((l) => [l.anchor, l.panel]));
    assert.deepEqual(placed, {
      lookup: 'scores',
      scale: 'scores',
      saturation: 'scores',
      mask: 'scores',
      matrices: 'mix',
      toy: 'head-choice',
      order: 'head-choice',
      price: 'price',
      shapes: 'figures',
      floor: 'figures',
    });
    assert.ok(
      links.every((l) => l.height >= 24),
      JSON.stringify(links),
    );
    await page.click('a[href$="by-hand.html#scale"]');
    await page.waitForFunction(() => document.querySelector('[data-byhand="scale"]')?.dataset.state === 'drawn');
    const figures = await page.$$eval('main section:has([data-byhand])', (all) =>
      all.map((s) => ({ id: s.id, back: [...s.querySelectorAll('a[href*="index.html"]')].map((a) => a.href) })),
    );
    assert.deepEqual(
      figures.map((f) => f.id).sort(),
      Object.keys(placed).sort(),
      'every figure is linked from a place of its own',
    );
    assert.ok(
      await page.evaluate(() => document.querySelector('#scale').getBoundingClientRect().top < innerHeight / 2),
    );
    assert.deepEqual(wrong, []);
  } finally {
    await page.close();
  }
});
