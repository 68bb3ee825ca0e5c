// Every figure on screen against the float64 reference. Tolerances: f32 noise of a pass as measured in the reference's own f32 runs,
// with room for another order of sums; probabilities 1e-5, shares 2e-5, scores 2e-3 (values run to 100), logits 2e-4.
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
  reference,
  near,
  hash,
} from './support/browser.mjs';

let site, chrome, page, wrong;
const words = reference('forward_words.json');
const trophy = reference('forward_trophy.json');
const causal = reference('causal_words.json');

before(async () => {
  site = await serveSite();
  chrome = await launch();
  ({ page, wrong } = await openPage(chrome.browser));
  await goReady(page, `${site.url}${hash({ text: words.text, layer: 17, head: 4, token: 13 })}`);
});
after(async () => {
  await chrome?.close();
  await site?.close();
});

async function show(view) {
  await page.evaluate((to) => (location.hash = to), hash(view));
  await page.waitForFunction(
    (text) =>
      [...document.querySelectorAll('#prompt-status')].some((e) => /tokens · one pass/.test(e.textContent)) &&
      document.querySelector('#prompt').value === text,
    { timeout: 60000 },
    view.text,
  );
  await page.waitForFunction(
    (l, h, t) =>
      document
        .querySelector('#scores h2 + p')
        .textContent.startsWith(h === 'all' ? 'All heads' : `Layer ${l}, head ${h} · token ${t}`),
    { timeout: 60000 },
    view.layer,
    view.head,
    view.token,
  );
  await settled(page);
}

test('tokens stand as the reference has them', async () => {
  const chips = await page.$$eval('[data-view="tokens"] button[data-token] .token-text', (n) =>
    n.map((x) => x.textContent),
  );
  assert.deepEqual(
    chips,
    words.tokens.map((t) => t.replace(/Ġ/g, '·')),
  );
});

test('the score table holds the reference rows: query·key, ÷8 and share', async () => {
  for (const { text, attention_rows: rows } of [words, trophy]) {
    for (const row of rows) {
      await show({ text, layer: row.layer, head: row.head, token: row.pos });
      const table = await scoreTable(page);
      for (const r of table) {
        if (r.position > row.pos) {
          assert.deepEqual([r.qk, r.scaled, r.share, r.text], [null, null, null, 'later']);
          continue;
        }
        const what = `layer ${row.layer} head ${row.head} token ${row.pos} → ${r.position}`;
        near(r.qk, row.qk[r.position], 2e-3, `${what} query·key`);
        near(r.scaled, row.scaled[r.position], 2.5e-4, `${what} ÷8`);
        near(r.share, row.share[r.position], 2e-5, `${what} share`);
      }
      const sum = table.reduce((total, r) => total + (r.share ?? 0), 0);
      near(sum, 1, 1e-5, 'the row sums to 1');
      assert.equal(await page.$eval('[data-column="sum"]', (c) => c.textContent.replace(/\u00a0/g, ' ')), '100 %');
    }
  }
});

test("the article's row prints as shares of the article's form", async () => {
  await show({ text: words.text, layer: 17, head: 4, token: 13 });
  const shown = (await scoreTable(page)).slice(0, 14).map((r) => r.text.replace(/\u00a0/g, ' '));
  assert.deepEqual(shown, [
    '3.0 %',
    '1.1 %',
    '1.9 %',
    '0.1 %',
    '0 %',
    '93.3 %',
    '0.4 %',
    '<0.1 %',
    '<0.1 %',
    '0 %',
    '0 %',
    '<0.1 %',
    '<0.1 %',
    '0 %',
  ]);
});

test('next tokens at every position, over the whole vocabulary', async () => {
  for (const position of words.positions) {
    await page.evaluate(
      (i) => document.querySelector(`[data-token="${i}"][aria-pressed="false"]`)?.click(),
      position.pos,
    );
    await page.waitForFunction(
      (i) => document.querySelector('#scores h2 + p').textContent.includes(`token ${i},`),
      {},
      position.pos,
    );
    await settled(page);
    const list = await nextTokens(page);
    assert.equal(list.length, 10);
    for (const [id, , probability] of position.top10) {
      const found = list.find((t) => t.id === id);
      // Two tokens may change places where their probabilities differ by less than the noise.
      if (found) near(found.probability, probability, 1e-5, `token ${position.pos}, id ${id}`);
      else near(probability, list[9].probability, 1e-5, `token ${position.pos}, id ${id} left out`);
    }
    const others = await page.$eval('.next-others', (e) => Number(e.dataset.value));
    near(others, 1 - position.top10.reduce((s, t) => s + t[2], 0), 2e-5, 'all others');
  }
});

test('64 products of a row, in the order of the published layout, sum to its query·key', async () => {
  await show({ text: words.text, layer: 17, head: 4, token: 13 });
  const expected = causal.slot_products.find((p) => p.layer === 17 && p.head === 4 && p.q === 13 && p.k === 5);
  await page.click('tr[data-position="5"] .row-open');
  await page.waitForSelector('.products [data-slot="63"]');
  const slots = await page.$$eval('.products [data-slot]', (r) => r.map((x) => Number(x.dataset.value)));
  assert.equal(slots.length, 64);
  slots.forEach((v, i) => near(v, expected.hf_order[i], 1e-3, `slot ${i}`));
  near(await page.$eval('[data-sum]', (e) => Number(e.dataset.sum)), expected.qk, 2e-3, 'sum');
  await page.click('tr[data-position="5"] .row-open');
});

test('what is written: share × length', async () => {
  const expected = causal.value_weighted.find((v) => v.layer === 17 && v.head === 4 && v.pos === 13);
  const list = await page.$$eval('[data-view="mix"] [data-position]', (items) =>
    items.map((i) => [Number(i.dataset.position), Number(i.dataset.value)]),
  );
  assert.ok(list.length >= 5);
  for (const [k, value] of list) near(value, expected.share_x_ov[k], 1e-3, `key ${k}`);
});

test('head statistics of the open head, and the rank', async () => {
  const names = {
    previous: 'previous_token',
    first: 'first_token',
    self: 'self',
    induction: 'induction',
    duplicate: 'duplicate_token',
    entropy: 'entropy',
  };
  for (const [key, name] of Object.entries(names)) {
    const value = await page.$eval(`[data-statistic="${key}"]`, (e) => Number(e.dataset.value));
    near(value, causal.head_stats[name][17][4], 2e-5, name);
  }
  const rank = await page.$eval('[data-statistic="induction"] + dd', (e) => e.textContent);
  const flat = causal.head_stats.induction.flat();
  assert.equal(rank, `${1 + flat.filter((v) => v > causal.head_stats.induction[17][4]).length} of 270`);
});

test('the atlas: strongest share of the pinned word in all 270 heads, then a statistic', async () => {
  const cells = () =>
    page.$$eval('[data-layer][data-head]', (c) =>
      c.map((x) => [Number(x.dataset.layer), Number(x.dataset.head), Number(x.dataset.value), x.title]),
    );
  const here = await cells();
  assert.equal(here.length, 270);
  const cell = here.find((c) => c[0] === 17 && c[1] === 4);
  near(cell[2], 0.9331571, 2e-5, 'layer 17 head 4');
  assert.match(cell[3], /93\.3\s% on ·cloud \(token 5\)/);
  await page.select('#shade', 'induction');
  await settled(page);
  for (const [l, h, value] of await cells())
    near(value, causal.head_stats.induction[l][h], 2e-5, `induction L${l}H${h}`);
  await page.select('#shade', 'word');
});

test('a head off: before and after, and undo gives the very same numbers', async () => {
  await show({ text: words.text, layer: 17, head: 4, token: 13 });
  const clean = await nextTokens(page);
  await andPass(page, () => page.click('[data-action="switch-head"]'));
  const moment = (name) => page.$eval(`[data-moment="${name}"]`, (e) => Number(e.dataset.value));
  near(await moment('before'), causal.clean.prob, 1e-5, 'before');
  near(await moment('after'), causal.head_off.prob[17][4], 1e-5, 'after');
  assert.equal(await page.$eval('[data-layer="17"][data-head="4"]', (c) => c.dataset.off), '');
  await page.click('[data-action="undo"]');
  await page.waitForFunction(() => !document.querySelector('[data-moment="after"]'));
  await settled(page);
  assert.deepEqual(await nextTokens(page), clean);
});

test('several heads off by the address', async () => {
  const set = causal.set_off.find((s) => s.heads.length === 3);
  await andPass(page, () =>
    page.evaluate(
      (to) => (location.hash = to),
      hash({ text: words.text, layer: 17, head: 4, token: 13, off: set.heads.map((h) => h.join('.')).join(',') }),
    ),
  );
  near(await page.$eval('[data-moment="after"]', (e) => Number(e.dataset.value)), set.prob, 1e-5, 'after');
  await page.click('[data-action="all-on"]');
  await page.waitForFunction(() => !document.querySelector('[data-moment="after"]'));
  await settled(page);
});

test('one link cut from its table row', async () => {
  const link = causal.links.find((l) => l.links.length === 1 && l.links[0].join() === '17,4,13,5');
  await andPass(page, () => page.click('tr[data-position="5"] .cut'));
  near(await page.$eval('[data-moment="after"]', (e) => Number(e.dataset.value)), link.renorm.prob, 1e-5, 'after');
  const table = await scoreTable(page);
  near(table[5].qk, 64.6665443, 2e-3, 'the score stays what it was');
  assert.equal(table[5].share, 0);
  link.renorm.row.forEach((share, k) => near(table[k].share, share, 2e-5, `share of ${k}`));
  await page.click('[data-action="undo"]');
  await page.waitForFunction(() => !document.querySelector('[data-moment="after"]'));
  await settled(page);
});

test('which heads matter: all 270 effects', async () => {
  await page.click('[data-action="effects"]');
  await page.waitForFunction(() => /Done: 270/.test(document.querySelector('#switches').textContent), {
    timeout: 600000,
  });
  const cells = await page.$$eval('[data-layer][data-head]', (c) =>
    c.map((x) => [Number(x.dataset.layer), Number(x.dataset.head), Number(x.dataset.value)]),
  );
  for (const [l, h, value] of cells) near(value, causal.head_off.prob[l][h] - causal.clean.prob, 2e-5, `L${l}H${h}`);
  await page.select('#shade', 'word');
});

test('who wrote the answer: parts against the mean token, exact in their sum', async () => {
  await page.click('[data-panel="writers"] summary');
  await page.waitForSelector('[data-view="writers"] [data-part]');
  await settled(page);
  const { target_terms: target, vocab_mean_terms: mean } = causal.attribution;
  const parts = await page.$$eval('[data-view="writers"] [data-part]', (p) =>
    p.map((x) => [x.dataset.part, Number(x.dataset.value)]),
  );
  for (const [part, value] of parts) {
    const head = /^L(\d+)H(\d+)$/.exec(part);
    const mlp = /^feed-forward (\d+)$/.exec(part);
    const of = (t) => (head ? t.heads[head[1]][head[2]] : mlp ? t.mlps[mlp[1]] : t.embedding);
    near(value, of(target) - of(mean), 1e-4, part);
  }
  near(
    await page.$eval('#inside [data-panel="writers"] p b[data-value]', (e) => Number(e.dataset.value)),
    target.sum - mean.sum,
    1e-3,
    'together',
  );
});

test('depth: first answers after each layer', async () => {
  await page.click('[data-panel="depth"] summary');
  await page.waitForSelector('[data-lens="30"]');
  await settled(page);
  const rows = await page.$$eval('[data-lens]', (r) =>
    r.map((x) => {
      const t = x.querySelector('[data-id]');
      return [Number(t.dataset.id), Number(t.dataset.value)];
    }),
  );
  assert.equal(rows.length, 31);
  causal.lens.forEach(({ layer, top5, margin }) => {
    if (margin < 1e-3) return; // two tokens as good as equal: either may stand first
    assert.equal(rows[layer][0], top5[0][0], `layer ${layer}`);
    near(rows[layer][1], top5[0][3], 2e-5, `layer ${layer}`);
  });
});

test('all heads averaged', async () => {
  await show({ text: trophy.text, head: 'all', token: 10 });
  const figures = reference('seed_figures.json').figures;
  const of = (key) => figures.find((f) => f.key === key).here;
  const table = await scoreTable(page);
  near(table[1].share, of('it_trophy_mean'), 2e-5, 'it → trophy');
  near(table[7].share, of('it_suit_mean'), 2e-5, 'it → suit');
  assert.deepEqual([table[1].qk, table[1].scaled], [null, null]);
});

test('copying: the mean over the second list, with and without heads', async () => {
  await show({ text: words.text, layer: 17, head: 4, token: 13 });
  await page.click('[data-panel="copying"] summary');
  await page.click('[data-panel="copying"] .button');
  await page.waitForFunction(() => document.querySelectorAll('[data-view="copying"] li').length === 6, {
    timeout: 120000,
  });
  const means = await page.$$eval('[data-view="copying"] li', (l) => l.map((x) => Number(x.dataset.value)));
  near(means[0], 2.935982e-5, 1e-6, 'the first time');
  near(means[1], causal.clean.next_mean_prob, 1e-5, 'nothing off');
  near(means[2], causal.head_off.next_mean_prob[17][4], 1e-5, 'the strongest off');
  const five = causal.set_off.find((s) => s.heads.length === 5);
  near(means[4], five.next_mean_prob, 1e-5, 'five off');
  near(means[5], causal.head_off.next_mean_prob[16][0], 1e-5, 'the previous-token head off');
});

test('nothing went wrong meanwhile', () => assert.deepEqual(wrong, []));
