// The first seconds, and everything that can go wrong in them. Small models stand in for the large one where its size plays no part.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  launch,
  serveSite,
  openPage,
  goReady,
  waitState,
  settled,
  scoreTable,
  reference,
  hash,
  DATA,
} from './support/browser.mjs';
import { STRICT_CSP } from './support/static_server.mjs';

let chrome;
before(async () => {
  chrome = await launch();
});
after(() => chrome?.close());

const message = (page) => page.$eval('#weights .load-text', (e) => e.textContent);
const press = (page, label) =>
  page.evaluate(
    (text) => [...document.querySelectorAll('#weights button')].find((b) => b.textContent === text).click(),
    label,
  );
const tiny = (more = {}) =>
  hash({ text: 'the library at the end', model: 'tiny/tiny-F32.gguf', layer: 0, head: 0, token: 2, ...more });

test('before the weights are in: stored runs of both prompts can be read, marked as such, and the live model replaces them without a jump', async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const site = await serveSite({
    answer(path, _request, response) {
      if (!path.startsWith('/models/') || !/\.\d{3}$|\.gguf$/.test(path) || !release) return false;
      held.then(() => response.destroy());
      return true;
    },
  });
  const { page } = await openPage(chrome.browser);
  try {
    await page.goto(site.url);
    await page.waitForSelector('tr[data-position="13"]', { timeout: 60000 });
    assert.equal(await page.evaluate(() => document.documentElement.dataset.state), 'loading');
    assert.match(await page.$eval('#prompt-status', (e) => e.textContent), /stored run/);
    const stored = await scoreTable(page);
    const row = reference('forward_words.json').attention_rows.find(
      (r) => r.layer === 17 && r.head === 4 && r.pos === 13,
    );
    row.share.forEach((share, k) => assert.ok(Math.abs(stored[k].share - share) < 2e-5, `share ${k}`));
    await page.click('[data-example="trophy"]');
    await page.waitForFunction(() => document.querySelectorAll('[data-token]').length === 15);
    assert.match(await page.$eval('#prompt-status', (e) => e.textContent), /stored run/);
    await page.click('[data-example="words"]');
    await page.waitForFunction(() => document.querySelectorAll('[data-token]').length === 19);
    const places = () =>
      page.$$eval('[data-token], #scores, #atlas, #next', (n) =>
        n.map((e) => {
          const b = e.getBoundingClientRect();
          return [Math.round(b.left), Math.round(b.top), Math.round(b.width)];
        }),
      );
    const before = await places();

    const open = release;
    release = undefined;
    open();
    await press(page, 'Cancel');
    await page.waitForFunction(() => document.documentElement.dataset.state === 'error');
    assert.match(await message(page), /cancelled/);
    await press(page, 'Try again');
    await waitState(page, 'ready');
    await settled(page);
    assert.match(await page.$eval('#prompt-status', (e) => e.textContent), /one pass/);
    const live = await scoreTable(page);
    stored.forEach((r, k) => assert.equal(live[k].text, r.text, `token ${k} prints as before`));
    assert.deepEqual(await places(), before);
  } finally {
    await page.close();
    await site.close();
  }
});

test('loading shows megabytes of megabytes and a phase', async () => {
  const bytes = readFileSync(join(DATA, 'tiny/tiny-F32.gguf'));
  let finish;
  const site = await serveSite({
    answer(path, _request, response) {
      if (path !== '/slow.gguf') return false;
      response.writeHead(200, { 'Content-Length': bytes.length });
      response.write(bytes.subarray(0, bytes.length / 2));
      finish = () => response.end(bytes.subarray(bytes.length / 2));
      return true;
    },
  });
  const { page } = await openPage(chrome.browser);
  try {
    await page.goto(`${site.url}${tiny({ model: 'slow.gguf' })}`);
    await page.waitForFunction(
      () => /Downloading the weights · [\d.]+.kB of [\d.]+.kB/.test(document.querySelector('#weights').textContent),
      { timeout: 30000 },
    );
    const now = await page.$eval('#weights [role="progressbar"]', (e) => Number(e.getAttribute('aria-valuenow')));
    assert.ok(now > 20 && now <= 60, `half is in: ${now} %`);
    finish();
    await waitState(page, 'ready');
    assert.match(await message(page), /slow\.gguf · .*F32.* · exact arithmetic · one thread/);
  } finally {
    await page.close();
    await site.close();
  }
});

test('a small F32 model runs in the page: its own shape everywhere', async () => {
  const site = await serveSite();
  const { page, wrong } = await openPage(chrome.browser);
  try {
    await goReady(page, `${site.url}${tiny()}`);
    assert.equal(await page.$$eval('[data-layer][data-head]', (c) => c.length), 12);
    assert.equal(await page.$eval('table[data-view="scores"] thead', (t) => t.textContent.includes('÷4')), true);
    const table = (await scoreTable(page)).filter((r) => r.share !== null);
    assert.equal(table.length, 3);
    for (const r of table) assert.ok(Math.abs(r.qk / 4 - r.scaled) < 1e-5);
    assert.ok(Math.abs(table.reduce((s, r) => s + r.share, 0) - 1) < 1e-5);
    await page.click('tr[data-position="1"] .row-open');
    await page.waitForSelector('.products [data-slot="15"]');
    assert.equal(await page.$$eval('.products [data-slot]', (s) => s.length), 16);
    assert.deepEqual(wrong, []);
  } finally {
    await page.close();
    await site.close();
  }
});

test('weights in the other two formats load too', async () => {
  const site = await serveSite();
  const { page } = await openPage(chrome.browser);
  try {
    await goReady(page, `${site.url}${tiny({ model: 'tiny/tiny-hf-F32/model.safetensors' })}`);
    const safetensors = await scoreTable(page);
    await page.goto('about:blank');
    await goReady(page, `${site.url}${tiny()}`);
    const gguf = await scoreTable(page);
    // tiny-F32 and tiny-hf-F32 hold other rows order of q and k, not other weights.
    gguf.forEach(
      (r, k) => r.share !== null && assert.ok(Math.abs(r.share - safetensors[k].share) < 1e-5, `token ${k}`),
    );
  } finally {
    await page.close();
    await site.close();
  }
});

const LIES = {
  'missing.gguf': { expect: /missing\.gguf.*404/s },
  'page.gguf': { body: '<!doctype html><title>Sign in</title>', type: 'text/html', expect: /page\.gguf/ },
  'pointer.gguf': {
    body: 'version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 98362432\n',
    expect: /git-lfs|LFS/i,
  },
  'empty.gguf': { body: '', expect: /empty\.gguf/ },
  'malformed/gguf_truncated_data.gguf': { expect: /.+/ },
  'malformed/gguf_nan_weights.gguf': { expect: /.+/ },
  'malformed/gguf_wrong_arch.gguf': { expect: /.+/ },
};

test('every failure ends in a plain sentence, a retry, and a page that still works', async () => {
  const site = await serveSite({
    answer(path, _request, response) {
      const lie = LIES[path.slice(1)];
      if (lie?.body === undefined) return false;
      response.writeHead(200, {
        'Content-Type': lie.type ?? 'application/octet-stream',
        'Content-Length': lie.body.length,
      });
      response.end(lie.body);
      return true;
    },
  });
  const { page } = await openPage(chrome.browser);
  try {
    for (const [file, { expect }] of Object.entries(LIES)) {
      await page.goto('about:blank');
      await page.goto(`${site.url}${tiny({ model: file })}`);
      await waitState(page, 'error');
      const said = await message(page);
      assert.match(said, expect, file);
      assert.ok(said.length > 20 && said.length < 600, `${file}: ${said}`);
      assert.doesNotMatch(said, /undefined|\[object|TypeError/, file);
      assert.equal(await page.$eval('#weights .load-text', (e) => e.getAttribute('role')), 'alert');
      // The same page then takes good weights.
      await page.click('#weights button:last-child');
      await page.$eval('#model-address', (e, url) => (e.value = url), `${site.url}tiny/tiny-F32.gguf`);
      await page.click('dialog[open] form button[type="submit"]');
      await waitState(page, 'ready');
      await settled(page);
      assert.ok((await page.$$('[data-token]')).length > 2);
    }
  } finally {
    await page.close();
    await site.close();
  }
});

test('a server that recovers: Try again loads', async () => {
  let broken = true;
  const site = await serveSite({
    answer(path, _request, response) {
      if (path !== '/tiny/tiny-F32.gguf' || !broken) return false;
      response.writeHead(404, { 'Content-Type': 'text/html' }).end('<!doctype html>no');
      return true;
    },
  });
  const { page } = await openPage(chrome.browser);
  try {
    await page.goto(`${site.url}${tiny()}`);
    await waitState(page, 'error');
    broken = false;
    await press(page, 'Try again');
    await waitState(page, 'ready');
  } finally {
    await page.close();
    await site.close();
  }
});

test('a file picked from the device, with its config and tokenizer; then one that is no model', async () => {
  const site = await serveSite();
  const { page } = await openPage(chrome.browser);
  try {
    await goReady(page, `${site.url}${tiny()}`);
    const folder = join(DATA, 'tiny/tiny-hf-F16');
    const input = await page.$('#model-files');
    const pick = async (...files) => {
      await press(page, 'Change weights');
      await input.uploadFile(...files);
    };
    await pick(...['model.safetensors', 'config.json', 'tokenizer.json'].map((f) => join(folder, f)));
    await page.waitForFunction(
      () => /model\.safetensors · .*F16/.test(document.querySelector('#weights').textContent),
      { timeout: 60000 },
    );
    await waitState(page, 'ready');
    await pick(join(folder, 'config.json'));
    await waitState(page, 'error');
    assert.match(await message(page), /config\.json/);
  } finally {
    await page.close();
    await site.close();
  }
});

test('a link to other hosts asks first, and asks nothing of them before', async () => {
  const site = await serveSite();
  const { page, hosts } = await openPage(chrome.browser);
  try {
    await goReady(page, `${site.url}${hash({ text: 'hi', model: 'https://weights.invalid/w.gguf' })}`);
    assert.match(await page.$eval('#weights .caution', (e) => e.textContent), /weights\.invalid/);
    assert.deepEqual(
      hosts.filter((u) => new URL(u).host === 'weights.invalid'),
      [],
    );
    assert.match(await message(page), /SmolLM2-135M-Instruct, Q4_1/);
    await page.evaluate(() =>
      [...document.querySelectorAll('#weights .caution button')].find((b) => b.textContent === 'Load them').click(),
    );
    await waitState(page, 'error');
    assert.ok(hosts.some((u) => new URL(u).host === 'weights.invalid'));
    assert.match(await message(page), /weights\.invalid/);
  } finally {
    await page.close();
    await site.close();
  }
});

for (const { name, options } of [
  { name: 'without cross-origin isolation, one thread and the reason', options: { isolation: false } },
  { name: 'under a sub-path', options: { base: '/some/sub/path/' } },
  { name: 'under a strict Content-Security-Policy', options: { csp: STRICT_CSP } },
]) {
  test(`it runs ${name}`, async () => {
    const site = await serveSite(options);
    const { page, wrong, hosts } = await openPage(chrome.browser);
    try {
      await goReady(page, site.url);
      const cell = (await scoreTable(page))[5];
      assert.ok(Math.abs(cell.share - 0.9331571) < 2e-5);
      if (options.isolation === false) {
        await press(page, 'Change weights');
        assert.match(
          await page.$eval('dialog[open] .facts', (e) => e.textContent),
          /1 thread: .*not cross-origin isolated/,
        );
      }
      assert.deepEqual(wrong, []);
      assert.deepEqual(
        hosts.filter((u) => !u.startsWith(site.url) && !/^(blob|data):/.test(u)),
        [],
      );
    } finally {
      await page.close();
      await site.close();
    }
  });
}

test('a second visit reads the kept weights and asks the server for none of them', async () => {
  const site = await serveSite();
  const { page } = await openPage(chrome.browser);
  try {
    await goReady(page, site.url);
    const before = site.seen.length;
    await page.reload();
    await waitState(page, 'ready');
    const asked = site.seen.slice(before).filter((p) => /\.gguf\.\d{3}$/.test(p));
    assert.deepEqual(asked, []);
  } finally {
    await page.close();
    await site.close();
  }
});

test('a visit with the server stopped: the page comes from what the first visit kept, and computes; so does the other page', async () => {
  const site = await serveSite();
  const { page, wrong } = await openPage(chrome.browser);
  let stopped = false;
  try {
    await goReady(page, site.url);
    const live = await scoreTable(page);
    await page.waitForFunction(() => document.documentElement.dataset.offline === 'ready');
    await site.close();
    stopped = true;
    await assert.rejects(fetch(site.url), 'the server answers no more');
    await page.goto('about:blank');
    wrong.length = 0;
    await goReady(page, site.url);
    assert.deepEqual(await scoreTable(page), live);
    await page.evaluate((to) => (location.hash = to), hash({ text: 'a text never read before', layer: 0, head: 0 }));
    await page.waitForFunction(() => document.querySelectorAll('[data-token]').length === 5);
    await settled(page);
    const rows = await scoreTable(page);
    assert.ok(Math.abs(rows.reduce((sum, r) => sum + r.share, 0) - 1) < 1e-5);
    assert.deepEqual(
      wrong.filter((w) => !/ERR_CONNECTION_REFUSED|Failed to load resource/.test(w)),
      [],
    );
    await page.goto(`${site.url}by-hand.html#price`);
    await waitState(page, 'ready');
    assert.ok(await page.$eval('[data-byhand="price"]', (figure) => figure.childElementCount > 0));
  } finally {
    await page.close();
    if (!stopped) await site.close();
  }
});
