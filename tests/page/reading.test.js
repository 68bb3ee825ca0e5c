// What a reader does: hover, tap, free, type, switch, share the address; and texts that try to break the page.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import {
  launch,
  serveSite,
  openPage,
  goReady,
  settled,
  andPass,
  scoreTable,
  nextTokens,
  params,
  waitParam,
  reference,
  hash,
} from './support/browser.mjs';

let site, chrome, page, wrong, hosts;
const words = reference('forward_words.json');

before(async () => {
  site = await serveSite();
  chrome = await launch();
  ({ page, wrong, hosts } = await openPage(chrome.browser));
  await goReady(page, site.url);
});
after(async () => {
  await chrome?.close();
  await site?.close();
});

const pinnedTokens = () =>
  page.$$eval('[data-token][aria-pressed="true"]', (b) => b.map((x) => Number(x.dataset.token)));
const pinnedHeads = () =>
  page.$$eval('[data-layer][aria-pressed="true"]', (b) => b.map((x) => `${x.dataset.layer}.${x.dataset.head}`));
const caption = () => page.$eval('#scores h2 + p', (e) => e.textContent);
const away = () => page.mouse.move(5, 5);
async function type(text) {
  await andPass(page, () =>
    page.evaluate((value) => {
      const field = /** @type {HTMLTextAreaElement} */ (document.querySelector('#prompt'));
      field.value = value;
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }, text),
  );
}

test("it opens on the article's first example, the second “seven” pinned in layer 17, head 4", async () => {
  assert.equal(await page.$eval('#prompt', (e) => e.value), words.text);
  assert.deepEqual(await pinnedTokens(), [13]);
  assert.deepEqual(await pinnedHeads(), ['17.4']);
});

test('hover previews, leaving returns to the pin', async () => {
  const pinnedRow = await scoreTable(page);
  await page.hover('[data-token="16"]');
  await settled(page);
  assert.match(await caption(), /token 16, preview/);
  assert.equal((await scoreTable(page)).filter((r) => r.share !== null).length, 17);
  assert.deepEqual(await pinnedTokens(), [13]);
  await away();
  await settled(page);
  assert.deepEqual(await scoreTable(page), pinnedRow);
});

test('tap pins, tapping it again frees, Esc frees', async () => {
  await page.click('[data-token="5"]');
  assert.deepEqual(await pinnedTokens(), [5]);
  await waitParam(page, 'token', '5');
  await page.click('[data-token="5"]');
  await away();
  assert.deepEqual(await pinnedTokens(), []);
  await settled(page);
  assert.match(await caption(), /token 18, the last word/);
  await waitParam(page, 'token', null);
  await page.click('[data-token="0"]');
  await waitParam(page, 'token', '0');
  await page.keyboard.press('Escape');
  assert.deepEqual(await pinnedTokens(), []);
  await page.click('[data-token="13"]');
  await away();
});

test('heads are previewed, chosen and freed on their own', async () => {
  await page.hover('[data-layer="3"][data-head="8"]');
  await settled(page);
  assert.match(await caption(), /^Layer 3, head 8/);
  assert.deepEqual(await pinnedHeads(), ['17.4']);
  await page.click('[data-layer="0"][data-head="0"]');
  await waitParam(page, 'layer', '0');
  await waitParam(page, 'head', '0');
  assert.deepEqual([await pinnedHeads(), await pinnedTokens()], [['0.0'], [13]]);
  await page.click('[data-layer="0"][data-head="0"]');
  await away();
  await settled(page);
  assert.match(await caption(), /^All heads, averaged/);
  assert.equal(await page.$eval('#averaged', (e) => e.checked), true);
  assert.ok(await page.$eval('#head-choice .caution', (e) => !e.hidden && e.textContent.length > 50));
  await page.click('#averaged');
  await page.select('#layer', '17');
  await page.select('#head', '4');
  await settled(page);
});

test('layer 0, head 0, token 0 survive the address', async () => {
  const { page: other } = await openPage(chrome.browser);
  await goReady(other, `${site.url}${hash({ text: words.text, layer: 0, head: 0, token: 0 })}`);
  assert.equal(await other.$eval('[data-token="0"]', (b) => b.getAttribute('aria-pressed')), 'true');
  assert.equal(await other.$eval('[data-layer="0"][data-head="0"]', (b) => b.getAttribute('aria-pressed')), 'true');
  assert.match(await other.$eval('#scores h2 + p', (e) => e.textContent), /^Layer 0, head 0 · token 0, pinned/);
  assert.equal(
    await other.$eval('tr[data-position="0"] [data-column="share"]', (c) => c.textContent.replace(/\u00a0/g, ' ')),
    '100 %',
  );
  await other.close();
});

test('the whole view comes back from the address, any text', async () => {
  const text = 'Hi 😀 100% #1\nשלום & "a<b>"\t+ x';
  const view = { text, layer: 9, head: 0, token: 3, off: '2.1,9.0:3>1', shade: 'entropy', sort: 'share', aside: '1' };
  const { page: other, wrong: otherWrong } = await openPage(chrome.browser);
  await goReady(other, `${site.url}${hash(view)}`);
  assert.equal(await other.$eval('#prompt', (e) => e.value), text);
  assert.equal(await other.$eval('#shade', (e) => e.value), 'entropy');
  assert.equal(await other.$eval('#aside', (e) => e.checked), true);
  assert.equal(await other.$$eval('[data-view="off"] li', (l) => l.length), 2);
  await other.click('[data-token="4"]');
  await waitParam(other, 'token', '4');
  assert.deepEqual(Object.fromEntries(await params(other)), { ...view, token: '4', layer: '9', head: '0' });
  assert.deepEqual(otherWrong, []);
  await other.close();
});

test('sorted by share, and back', async () => {
  await page.click('[data-sort="share"] button');
  await waitParam(page, 'sort', 'share');
  const shares = (await scoreTable(page)).map((r) => r.share ?? -1);
  assert.deepEqual(
    shares,
    [...shares].sort((a, b) => b - a),
  );
  await page.click('[data-sort="position"] button');
  await waitParam(page, 'sort', null);
  assert.deepEqual(
    (await scoreTable(page)).map((r) => r.position),
    words.tokens.map((_, i) => i),
  );
});

test('the first token set aside: the removed share is printed, nothing is scaled up', async () => {
  const plain = await scoreTable(page);
  await page.click('#aside');
  await settled(page);
  const table = await scoreTable(page);
  assert.deepEqual(
    table.map((r) => r.share),
    plain.map((r) => r.share),
  );
  assert.match(
    await page.$eval('.sink', (e) => e.textContent),
    /3\.0\s% on the first token \(Words\) is set aside.*96\.9\s%|3\.0\s% on the first token \(Words\) is set aside.*97\.0\s%/,
  );
  await page.click('#aside');
});

test('whole words: shares of a word are the sum over its tokens, and the row still sums to 1', async () => {
  await type('The trophy unbelievably wobbled.');
  await page.click('#words');
  await settled(page);
  const grouped = await scoreTable(page);
  const tokens = await page.$eval('#prompt-status', (e) => parseInt(e.textContent, 10));
  assert.ok(grouped.length < tokens, `${grouped.length} words of ${tokens} tokens`);
  assert.ok(Math.abs(grouped.reduce((s, r) => s + (r.share ?? 0), 0) - 1) < 1e-5);
  assert.ok(grouped.every((r) => r.qk === null));
  await page.click('#words');
});

test('typing runs as one types; the newest text wins', async () => {
  await page.focus('#prompt');
  await page.$eval('#prompt', (e) => (e.value = ''));
  await page.keyboard.type('One two three one two');
  await page.waitForFunction(() => document.querySelectorAll('[data-token]').length === 5, { timeout: 60000 });
  await settled(page);
  const chips = await page.$$eval('[data-token] .token-text', (n) => n.map((x) => x.textContent).join(''));
  assert.equal(chips, 'One·two·three·one·two');
  await waitParam(page, 'text', 'One two three one two');
});

test('an emptied text is no error, and typing goes on', async () => {
  await page.evaluate(() => {
    const field = document.querySelector('#prompt');
    field.value = '';
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
  await page.waitForFunction(() => document.querySelector('.strip').hidden);
  assert.equal(await page.$eval('#prompt-box .problem', (e) => e.hidden), true);
  await type('again');
  assert.equal(await page.$$eval('[data-token]', (n) => n.length), 1);
});

test('hostile texts stand as text in chips, table, titles and pictures; nothing is made of them', async () => {
  const texts = [
    'a<b<c',
    '"><img src=x onerror="document.title=\'broken\'">',
    '<script>document.title="broken"</script>',
    "&lt;b&gt; &#39; ${1+1} {{7*7}} %s \\u0041 '; --",
    '  two  spaces \t tab\n\n\nlines ',
    'Hi 😀 👍🏽! 略 שלום مرحبا 👨‍👩‍👧',
    '\u202eright to left\u202c \u200b\ufeff zero',
    'x'.repeat(300),
    '__proto__ constructor toString',
    '<|im_start|>user\nhi<|im_end|>',
  ];
  const nodes = await page.$$eval(
    '*',
    (all) =>
      all.filter(
        (e) =>
          ['IMG', 'SCRIPT', 'IFRAME', 'B'].includes(e.tagName) &&
          !e.closest('#strip + p, #scores, #next, #further, .load-text, .guide, dialog, #switches'),
      ).length,
  );
  for (const text of texts) {
    await type(text);
    // What stands in the chips, marks undone, is the text itself; pieces of one character count once.
    const back = await page.$$eval('[data-token] .token-text', (chips) => {
      const real = { '·': ' ', '⇥': '\t', '↵': '\n', '⍽': '\u00a0' };
      return chips
        .map((chip) => {
          const piece = chip.querySelector('.piece');
          if (piece && !piece.textContent.startsWith('1 of')) return '';
          return [...chip.childNodes]
            .map((n) =>
              n === piece
                ? ''
                : n.nodeType === 3
                  ? n.data
                  : (real[n.textContent] ?? String.fromCodePoint(parseInt(n.textContent.replace('U+', ''), 16))),
            )
            .join('');
        })
        .join('');
    });
    assert.equal(back, text, JSON.stringify(text));
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      `no sideways scroll: ${JSON.stringify(text)}`,
    );
  }
  assert.equal(await page.title(), 'Lookback: see where attention goes');
  assert.equal(
    await page.$$eval(
      '*',
      (all) =>
        all.filter(
          (e) =>
            ['IMG', 'SCRIPT', 'IFRAME', 'B'].includes(e.tagName) &&
            !e.closest('#strip + p, #scores, #next, #further, .load-text, .guide, dialog, #switches'),
        ).length,
    ),
    nodes,
  );
});

test('byte pieces of one character are chips of their own, each showing the whole character', async () => {
  await type('Hi 略!');
  const pieces = await page.$$eval('[data-token] .piece', (n) => n.map((x) => x.textContent));
  assert.ok(pieces.length >= 2);
  assert.deepEqual(
    pieces,
    pieces.map((_, i) => `${i + 1} of ${pieces.length}`),
  );
  assert.ok(!(await page.$eval('[data-view="tokens"]', (e) => e.textContent)).includes('\ufffd'));
});

test('a text past the limit is refused in plain words, and a shorter one runs again', async () => {
  await page.evaluate(() => {
    const field = document.querySelector('#prompt');
    field.value = 'word '.repeat(2100);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
  await page.waitForFunction(() => !document.querySelector('#prompt-box .problem').hidden, { timeout: 60000 });
  assert.match(
    await page.$eval('#prompt-box .problem', (e) => e.textContent),
    /2,1\d\d tokens long; the page shows up to 2,048/,
  );
  await type('short again');
  assert.equal(await page.$eval('#prompt-box .problem', (e) => e.hidden), true);
});

test('write on: each new token is a chip that can be tapped', async () => {
  const { generation } = reference('causal_words.json');
  await page.evaluate((to) => (location.hash = to), hash({ text: words.text, layer: 17, head: 4 }));
  await page.waitForFunction((t) => document.querySelector('#prompt').value === t, {}, words.text);
  await settled(page);
  await page.click('[data-panel="write"] summary');
  await page.$eval('#write-max', (e) => (e.value = '8'));
  await page.click('[data-action="write"]');
  await page.waitForFunction(
    () => /8 tokens written/.test(document.querySelector('[data-view="writing"]').textContent),
    { timeout: 120000 },
  );
  await settled(page);
  assert.equal(await page.$$eval('[data-token]', (n) => n.length), 27);
  const text = await page.$eval('#prompt', (e) => e.value);
  assert.ok(text.startsWith(words.text) && text.length > words.text.length);
  await page.click('[data-token="24"]');
  await away();
  await settled(page);
  assert.match(await caption(), /token 24, pinned/);
  const written = await page.$$eval('[data-token] .token-text', (n) =>
    n
      .slice(19)
      .map((x) => x.textContent)
      .join(''),
  );
  assert.equal(written, generation.text.replace(/ /g, '·').replace(/\n/g, '↵'));
});

test('the guided example walks with live numbers and leaves everything on', async () => {
  await page.click('[data-action="guide-start"]');
  await settled(page);
  await page.waitForFunction(() => /93\.3/.test(document.querySelector('[data-view="guide"]').textContent), {
    timeout: 60000,
  });
  for (const expected of [
    /“ cloud”, with 27\.8/,
    /goes up: 27\.8.% → 32\.9/,
    /falls: 27\.8.% → 1\.\d/,
    /falls: 27\.8.% → \d/,
    /All heads are on again/,
  ]) {
    await page.click('[data-action="guide-next"]');
    await page.waitForFunction(
      (source) => new RegExp(source).test(document.querySelector('[data-view="guide"]').textContent),
      { timeout: 120000 },
      expected.source,
    );
  }
  await settled(page);
  assert.equal((await params(page)).get('off'), null);
});

test('what is saved says what it was made with', async () => {
  const saved = await page.evaluate(async () => {
    const files = [];
    const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => (files.push(blob), make(blob));
    HTMLAnchorElement.prototype.click = () => {};
    [...document.querySelectorAll('#masthead-tools button')].find((b) => b.textContent === 'Save…').click();
    for (const what of ['picture.svg', 'picture.png', 'row.csv', 'head.json', 'head.npz']) {
      const before = files.length;
      document.querySelector(`[data-save="${what}"]`).click();
      while (files.length === before) await new Promise((r) => setTimeout(r, 20));
    }
    const text = (i) => files[i].text();
    const out = {
      svg: await text(0),
      png: [files[1].type, files[1].size],
      csv: await text(2),
      json: JSON.parse(await text(3)),
      npz: files[4].size,
    };
    document.querySelector('dialog[open]').close();
    return out;
  });
  const sha = await page.$eval('.hash', (e) => e.title.split(' ')[1]);
  assert.match(sha, /^[0-9a-f]{64}$/);
  for (const text of [saved.svg, saved.csv]) assert.ok(text.includes(sha));
  assert.equal(saved.json.weights.sha256, sha);
  assert.equal(saved.json.shares.length, saved.json.tokens.length);
  assert.deepEqual(saved.png[0], 'image/png');
  assert.ok(saved.png[1] > 5000 && saved.npz > 1000);
  const csv = saved.csv.split('\n').filter((l) => l && !l.startsWith('#'));
  assert.equal(csv[0], 'position,id,token,qk,scaled,share');
  assert.equal(csv.length, 1 + saved.json.tokens.length);
});

test('no request left the origin, and nothing went wrong', () => {
  assert.deepEqual(
    hosts.filter((u) => !u.startsWith(site.url) && !u.startsWith('blob:') && !u.startsWith('data:')),
    [],
  );
  assert.deepEqual(wrong, []);
});

test('undo after several switches goes back step by step to the very same numbers', async () => {
  await page.evaluate((to) => (location.hash = to), hash({ text: words.text, layer: 17, head: 4, token: 13 }));
  await page.waitForFunction((t) => document.querySelector('#prompt').value === t, {}, words.text);
  await settled(page);
  const clean = await nextTokens(page);
  await andPass(page, () => page.click('[data-action="switch-head"]'));
  const one = await nextTokens(page);
  await page.select('#head', '3');
  await settled(page);
  await andPass(page, () => page.click('[data-action="switch-head"]'));
  assert.notDeepEqual(await nextTokens(page), one);
  await andPass(page, () => page.click('[data-action="undo"]'));
  assert.deepEqual(await nextTokens(page), one);
  await page.click('[data-action="undo"]');
  await page.waitForFunction(() => document.querySelector('[data-action="undo"]').disabled);
  await settled(page);
  assert.deepEqual(await nextTokens(page), clean);
});
