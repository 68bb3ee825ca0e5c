/**
 * The by-hand page in a real browser: every number of the walkthrough is on it, and each figure computes anew when an input changes. What a figure should show
 * is worked out here a second time, in the plainest way.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import puppeteer from 'puppeteer-core';

import { serveFolder } from '../../scripts/lib/static_server.mjs';
import { decodeLink } from '../../web/app/link_state.js';

const SITE = process.env.LOOKBACK_SITE ?? fileURLToPath(new URL('../../dist/site', import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const figures = JSON.parse(readFileSync(new URL('../data/reference/toy_figures.json', import.meta.url), 'utf8'));
const toy = figures.toy_attention;

let server;
let browser;
before(async () => {
  server = await serveFolder({ folder: SITE });
  browser = await puppeteer.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS, timeout: 180000 });
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** The page, ready and drawn; anything it logs as an error fails the test that opened it. */
async function open({ width = 1280, theme = 'light' } = {}) {
  const page = await browser.newPage();
  // Drawing is a second of work; a machine that builds at the same time may take a minute over it.
  page.setDefaultTimeout(180000);
  page.faults = [];
  page.requests = [];
  page.on('pageerror', (error) => page.faults.push(error.message));
  page.on('console', (message) => {
    // A browser asks for an icon by itself.
    if (message.type() === 'error' && !message.location().url?.endsWith('favicon.ico'))
      page.faults.push(message.text());
  });
  page.on('request', (request) => page.requests.push(request.url()));
  await page.setViewport({ width, height: 800 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
  await page.goto(`${server.url}by-hand.html`);
  await page.waitForSelector('[data-byhand="scale"][data-state="drawn"]');
  await page.waitForFunction(() => document.documentElement.dataset.state === 'ready');
  return page;
}

async function done(page) {
  assert.deepEqual(page.faults, []);
  await page.close();
}

const inFigure = (name) => `[data-byhand="${name}"]`;

/** Sets the input with this label inside a figure, as typing does. */
async function set(page, figure, label, value) {
  await page.evaluate(
    (root, wanted, text) => {
      const labels = [...document.querySelectorAll(`${root} label`)];
      const tied = labels.find((element) => element.textContent === wanted);
      const input = tied
        ? (tied.control ?? document.getElementById(tied.htmlFor))
        : document.querySelector(`${root} [aria-label="${wanted}"]`);
      if (!input) throw new Error(`no input “${wanted}”`);
      if (input.type === 'checkbox') {
        if (input.checked !== text) input.click();
        return;
      }
      input.value = text;
      input.dispatchEvent(new Event('input', { bubbles: true }));
      input.dispatchEvent(new Event('change', { bubbles: true }));
    },
    inFigure(figure),
    label,
    value,
  );
}

/** Unrounded numbers of the table whose caption starts so: rows of what its cells carry. */
const cells = async (page, figure, caption) => {
  const texts = await page.evaluate(
    (root, start) => {
      const tables = [...document.querySelectorAll(`${root} table`)].filter((table) =>
        table.caption.textContent.startsWith(start),
      );
      if (tables.length !== 1) throw new Error(`${tables.length} tables “${start}”`);
      return [...tables[0].tBodies[0].rows].map((row) =>
        [...row.querySelectorAll('[data-value]')].map((cell) => cell.dataset.value),
      );
    },
    inFigure(figure),
    caption,
  );
  // As text, since an infinity does not come out of the page as a number.
  return texts.map((row) => row.map(Number));
};
const live = (page, name) => page.$eval(`[data-live="${name}"]`, (element) => Number(element.dataset.value));
const said = (page, figure) => page.$eval(`${inFigure(figure)} .said`, (element) => element.textContent);

const near = (actual, expected, what = '') => {
  assert.equal([actual].flat(2).length, [expected].flat(2).length, `${what}: another number of numbers`);
  [actual].flat(2).forEach((x, i) => {
    const y = [expected].flat(2)[i];
    assert.ok(Math.abs(x - y) <= 1e-9 * Math.max(1, Math.abs(y)), `${what}[${i}]: ${x}, expected ${y}`);
  });
};

// ---- the same arithmetic once more ----

const product = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const shares = (scores) => {
  const raised = scores.map((s) => Math.E ** s);
  return raised.map((e) => e / raised.reduce((x, y) => x + y));
};
const times = (rows, m) => rows.map((row) => m[0].map((_, j) => row.reduce((sum, x, i) => sum + x * m[i][j], 0)));
const vectors = (words) => words.map((word) => toy.E[toy.vocab.indexOf(word)]);
function attend(x, { WQ, WK, WV }, masked) {
  const [q, k, v] = [times(x, WQ), times(x, WK), times(x, WV)];
  const scores = q.map((query) => k.map((key) => product(query, key) / 2));
  const pattern = scores.map((row, i) => {
    const weights = shares(masked ? row.slice(0, i + 1) : row);
    return row.map((_, j) => weights[j] ?? 0);
  });
  return { scores, pattern, output: times(pattern, v) };
}
const gap = (a, b) => Math.max(...a.flatMap((row, i) => row.map((x, j) => Math.abs(x - b[i][j]))));

// ---- every number of the walkthrough ----

/** Texts of the file that are remarks, not figures. */
const REMARKS = new Set([
  'sqrt_dk/generator',
  'causal_mask_4/rule',
  'toy_attention/note',
  'smollm2_135m_counts/note',
  'numpy',
  'not_recomputed',
]);

function* leaves(value, path = []) {
  if (REMARKS.has(path.join('/'))) return;
  if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) yield* leaves(inner, [...path, key]);
  } else yield [path.join('/'), value];
}

/** A printed number: true minus, groups of three, powers of ten. */
function readPrinted(text) {
  const plain = text.replaceAll('−', '-').replaceAll(',', '');
  const power = /^(.*) × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/.exec(plain);
  if (!power) return { value: Number(plain), step: 10 ** -(plain.split('.')[1]?.length ?? 0) };
  const exponent = Number(power[2].replace(/./g, (c) => (c === '⁻' ? '-' : '⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(c))));
  return { value: Number(power[1]) * 10 ** exponent, step: 10 ** (exponent - (power[1].split('.')[1]?.length ?? 0)) };
}

test('every number of the walkthrough stands on the page, unrounded beside its printed digits', async () => {
  const page = await open();
  const shown = await page.$$eval('[data-figure]', (elements) =>
    elements.map((element) => {
      const input = element.querySelector('input');
      return {
        places: element.dataset.figure.split(' '),
        value: input ? input.value : element.dataset.value,
        text: input ? input.value : element.textContent,
        visible: element.checkVisibility() && element.getBoundingClientRect().width > 0,
      };
    }),
  );
  const byPlace = new Map();
  for (const entry of shown)
    for (const place of entry.places) byPlace.set(place, [...(byPlace.get(place) ?? []), entry]);

  let numbers = 0;
  for (const [place, expected] of leaves(figures)) {
    if (typeof expected === 'string') {
      const found = await page.evaluate(
        (text) =>
          [...document.querySelectorAll('textarea')].some((area) => area.value === text) ||
          [...document.querySelectorAll('th')].some((th) => th.textContent === text),
        expected,
      );
      assert.ok(found, `${place}: “${expected}” is not shown`);
      continue;
    }
    const entries = byPlace.get(place);
    assert.ok(entries, `${place} = ${expected} is not shown`);
    byPlace.delete(place);
    numbers += 1;
    for (const { value, text, visible } of entries) {
      assert.ok(visible, `${place} is hidden`);
      if (typeof expected === 'boolean') {
        assert.equal(value, String(expected), place);
        assert.equal(text, expected ? 'the same' : 'not the same', place);
      } else if (expected === null) {
        assert.deepEqual([value, text], ['-Infinity', '−∞'], place);
      } else {
        const printed = readPrinted(text);
        assert.ok(
          Math.abs(printed.value - Number(value)) <= 0.5 * printed.step * (1 + 1e-9),
          `${place}: prints ${text} for ${value}`,
        );
        // A figure as the article printed it equals ours in print; one that was computed again, to nine digits.
        if (/(^|\/)seed(\/|_|$)/.test(place))
          assert.ok(Math.abs(printed.value - expected) < 1e-12, `${place}: prints ${text}, the article ${expected}`);
        else
          assert.ok(
            Math.abs(Number(value) - expected) <=
              6e-9 * Math.min(1, Math.abs(expected) + 0.2) * Math.max(1, Math.abs(expected)),
            `${place}: ${value}, expected ${expected}`,
          );
      }
    }
  }
  assert.deepEqual([...byPlace.keys()], [], 'places that the walkthrough does not have');
  assert.ok(numbers > 350, `only ${numbers} numbers`);
  await done(page);
});

// ---- each figure, with another input ----

test('soft lookup: other query, keys, values, push', async () => {
  const page = await open();
  const figure = 'lookup';
  const query = [0.5, 2];
  const keys = [
    [0, 0],
    [3, -1],
    [1, 1],
  ];
  const values = [
    [1, 0],
    [0, 4],
    [1, 1],
  ];
  await set(page, figure, 'query, number 1', '0.5');
  await set(page, figure, 'query, number 2', '2');
  await set(page, figure, 'key of cat, number 1', '3');
  await set(page, figure, 'key of cat, number 2', '-1');
  await set(page, figure, 'value of cat, number 2', '4');
  await set(page, figure, 'score of “cat”, pushed to', '5');
  const scores = keys.map((key) => product(query, key));
  const kinds = [shares(scores), shares(scores.map((s) => s / Math.SQRT2)), shares([scores[0], 5, scores[2]])];
  near(
    await cells(page, figure, 'Scores and weights'),
    scores.map((s, i) => [s, ...kinds.map((weights) => weights[i])]),
    'weights',
  );
  near(
    await cells(page, figure, 'Output'),
    kinds.map((weights) => times([weights], values)[0]),
    'outputs',
  );
  assert.match(await said(page, figure), /comes from “sat”/);

  // A wrong entry says so and leaves the last good numbers.
  const before = await cells(page, figure, 'Scores and weights');
  await set(page, figure, 'query, number 1', '');
  const problem = await page.$eval(`${inFigure(figure)} [aria-label="query, number 1"]`, (input) => [
    input.getAttribute('aria-invalid'),
    document.getElementById(input.getAttribute('aria-describedby')).checkVisibility(),
  ]);
  assert.deepEqual(problem, ['true', true]);
  assert.deepEqual(await cells(page, figure, 'Scores and weights'), before);
  await page.click(`${inFigure(figure)} [data-action="reset"]`);
  near(
    (await cells(page, figure, 'Scores and weights')).map((row) => row[1]),
    figures.soft_lookup.weights,
    'after reset',
  );
  await done(page);
});

test('three matrices: other words', async () => {
  const page = await open();
  const figure = 'matrices';
  await set(page, figure, 'how alike are', 'mat');
  await set(page, figure, 'and', 'log');
  const [a, b] = vectors(['mat', 'log']);
  const [alike] = await page.$$eval(`${inFigure(figure)} .result [data-value]`, (list) =>
    list.map((x) => Number(x.dataset.value)),
  );
  near(alike, product(a, b) / Math.hypot(...a) / Math.hypot(...b), 'cosine');
  await set(page, figure, 'words', 'dog ran to');
  const x = vectors(['dog', 'ran', 'to']);
  near(
    await cells(page, figure, 'Own vectors'),
    x.map((q) => x.map((k) => product(q, k))),
    'own',
  );
  near(await cells(page, figure, 'Through the two'), attend(x, toy, false).scores, 'projected');
  await set(page, figure, 'words', 'dog flew');
  const problem = await page.$eval(`${inFigure(figure)} .problem:not([hidden])`, (p) => p.textContent);
  assert.match(problem, /^“flew” is not among its words/);
  await done(page);
});

/** The page's generator once more, on typed arrays: sfc32, then the polar method. */
function draws(seed) {
  const state = new Uint32Array([0x9e3779b9, 0x243f6a88, seed, 1]);
  const out = new Uint32Array(1);
  const next = () => {
    out[0] = state[0] + state[1] + state[3];
    state[3] += 1;
    state[0] = state[1] ^ (state[1] >>> 9);
    state[1] = state[2] * 9;
    state[2] = ((state[2] << 21) | (state[2] >>> 11)) + out[0];
    return out[0];
  };
  for (let i = 0; i < 15; i++) next();
  const unit = () => Number((BigInt(next() >>> 5) << 26n) | BigInt(next() >>> 6)) / 2 ** 53;
  const kept = [];
  return () => {
    while (kept.length === 0) {
      const [x, y] = [2 * unit() - 1, 2 * unit() - 1];
      const r = x * x + y * y;
      if (r > 0 && r < 1) kept.push(...[x, y].map((z) => z * Math.sqrt((-2 * Math.log(r)) / r)));
    }
    return kept.shift();
  };
}

test('√d: another width and seed, near theory; the same seed again gives the same', async () => {
  const page = await open();
  const figure = 'scale';
  const drawn = async (change) => {
    const before = Number(await page.$eval(inFigure(figure), (root) => root.dataset.draws));
    await change();
    await page.waitForFunction(
      (root, n) => Number(document.querySelector(root).dataset.draws) > n,
      {},
      inFigure(figure),
      before,
    );
    await page.waitForSelector(`${inFigure(figure)}[data-state="drawn"]`);
    return Promise.all(
      ['spread-4', 'spread-8', 'spread-64', 'top-plain-8', 'top-scaled-8', 'top-plain-64', 'top-scaled-64'].map(
        (name) => live(page, name),
      ),
    );
  };
  await drawn(() => set(page, figure, 'another width d', '8'));
  const seen = [];
  for (const seed of [2, 3]) {
    const results = await drawn(() => set(page, figure, 'seed of the draws', String(seed)));
    [4, 8, 64].forEach((width, i) => {
      // The standard error of a spread from n draws of a sum of d products.
      const error = Math.sqrt((2 * width + 6) / 10000) / 2;
      assert.ok(Math.abs(results[i] - Math.sqrt(width)) < 3 * error, `seed ${seed}, width ${width}: ${results[i]}`);
    });
    seen.push(results);
  }
  assert.notDeepEqual(seen[0], seen[1]);
  assert.deepEqual(await drawn(() => set(page, figure, 'seed of the draws', '2')), seen[0]);

  const random = draws(2);
  const products = Array.from({ length: 10000 }, () => {
    let sum = 0;
    for (let i = 0; i < 8; i++) sum += random() * random();
    return sum;
  });
  const mean = products.reduce((x, y) => x + y) / products.length;
  near(seen[0][1], Math.sqrt(products.reduce((sum, x) => sum + (x - mean) ** 2, 0) / products.length), 'spread');
  const again = draws(2);
  const tops = Array.from({ length: 2000 }, () => {
    const q = Array.from({ length: 8 }, again);
    const scores = Array.from({ length: 16 }, () => q.map((x) => x * again()).reduce((x, y) => x + y));
    return [Math.max(...shares(scores)), Math.max(...shares(scores.map((s) => s / Math.sqrt(8))))];
  });
  near(
    [seen[0][3], seen[0][4]],
    [0, 1].map((kind) => tops.reduce((sum, row) => sum + row[kind], 0) / 2000),
    'largest weight',
  );
  await done(page);
});

test('saturation: other scores and step', async () => {
  const page = await open();
  const figure = 'saturation';
  await set(page, figure, 'a high score', '4');
  await set(page, figure, 'a low score', '-1');
  await set(page, figure, 'step', '0.5');
  const rows = [4, 4.5, -1, -0.5].map((s) => shares([s, 0, 0]));
  near(await cells(page, figure, 'softmax('), rows, 'weights');
  near(
    await cells(page, figure, 'What a step of 0.5'),
    [
      [0, 1],
      [2, 3],
    ].map(([i, j]) => [rows[j][0] - rows[i][0], rows[i][0] * (1 - rows[i][0])]),
    'steps',
  );
  await done(page);
});

test('causal mask: another size, off, other words', async () => {
  const page = await open();
  const figure = 'mask';
  await set(page, figure, 'tokens in the mask', '3');
  assert.deepEqual(await cells(page, figure, 'M for 3'), [
    [0, -Infinity, -Infinity],
    [0, 0, -Infinity],
    [0, 0, 0],
  ]);
  await set(page, figure, 'causal mask', false);
  for (const words of ['the cat sat on the', 'dog saw the mat']) {
    await set(page, figure, 'words', words);
    const list = words.split(' ');
    const whole = attend(vectors(list), toy, false).pattern;
    const part = attend(vectors(list.slice(0, 3)), toy, false).pattern;
    near(await cells(page, figure, `Weights of “${words}”, mask off`), whole, words);
    near(await cells(page, figure, `Weights of “${list.slice(0, 3).join(' ')}”, mask off`), part, words);
    const change = gap(
      part.map((row) => [...row, ...Array(list.length - 3).fill(0)]),
      whole.slice(0, 3),
    );
    near(await live(page, 'prefix-change'), change, 'change');
    assert.ok(change > 0.1);
  }
  await set(page, figure, 'causal mask', true);
  near(
    await cells(page, figure, 'Weights of “dog saw the mat”, mask on'),
    attend(vectors(['dog', 'saw', 'the', 'mat']), toy, true).pattern,
    'mask on',
  );
  assert.equal(await live(page, 'prefix-change'), 0);
  await done(page);
});

test('toy head: other words, another random head', async () => {
  const page = await open();
  const figure = 'toy';
  await set(page, figure, 'words', 'dog ran to the mat');
  await set(page, figure, 'words of the beginning', '2');
  const check = async (head) => {
    for (const words of [
      ['dog', 'ran'],
      ['dog', 'ran', 'to', 'the', 'mat'],
    ]) {
      const { pattern, output } = attend(vectors(words), head, true);
      const name = words.join(' ');
      near(
        await cells(page, figure, `Weights of “${name}”`),
        pattern.map((row) => [...row, 1]),
        name,
      );
      near(await cells(page, figure, `What each word of “${name}” receives`), output, name);
    }
  };
  await check(toy);
  await set(page, figure, 'another random head', true);
  await set(page, figure, 'its seed', '3');
  const random = draws(3);
  const head = Object.fromEntries(
    ['WQ', 'WK', 'WV'].map((name) => [
      name,
      Array.from({ length: 4 }, () => Array.from({ length: 4 }, () => random() / 2)),
    ]),
  );
  for (const name of ['WQ', 'WK', 'WV']) near(await cells(page, figure, name), head[name], name);
  await check(head);
  await done(page);
});

test('order: other sentences, other strength of positions', async () => {
  const page = await open();
  const figure = 'order';
  await set(page, figure, 'sentence', 'dog sat on cat');
  await set(page, figure, 'the same words in another order', 'cat sat on dog');
  await set(page, figure, 'word to follow', 'on');
  await set(page, figure, 'strength of the positions', '0.5');
  const [a, b] = [
    ['dog', 'sat', 'on', 'cat'],
    ['cat', 'sat', 'on', 'dog'],
  ];
  const placed = (words) => vectors(words).map((row, i) => row.map((x, j) => x + 0.5 * toy.pos[i][j]));
  const run = (x, masked = false) => attend(x, toy, masked).output;
  const back = [...a].reverse();
  near(await live(page, 'reversal-placed'), gap([...run(placed(a))].reverse(), run(placed(back))), 'positions');
  near(await live(page, 'word-masked'), gap([run(vectors(a), true)[2]], [run(vectors(b), true)[2]]), 'mask');
  assert.ok((await live(page, 'reversal-plain')) < 1e-12);
  assert.ok((await live(page, 'word-plain')) < 1e-12);
  near(await cells(page, figure, 'What “dog sat on cat” receives'), run(placed(a)), 'outputs');
  await set(page, figure, 'strength of the positions', '0');
  assert.ok((await live(page, 'reversal-placed')) < 1e-12);
  await set(page, figure, 'the same words in another order', 'cat sat on mat');
  assert.match(await said(page, figure), /^Both sentences need the same words/);
  await done(page);
});

test('shapes: another number of tokens', async () => {
  const page = await open();
  await set(page, 'shapes', 'tokens n', '100');
  const rows = await cells(page, 'shapes', 'Shapes in one layer, n = 100');
  assert.deepEqual(rows.slice(3), [
    [12, 100, 64, 9, 100, 64],
    [12, 100, 64, 3, 100, 64],
    [12, 100, 100, 9, 100, 100],
    [12, 100, 64, 9, 100, 64],
    [100, 768, 100, 576],
    [100, 768, 100, 576],
  ]);
  assert.deepEqual(await cells(page, 'shapes', 'Scores'), [
    [10000, 10000],
    [120000, 90000],
    [1024 ** 2, 1024 ** 2],
    [12 * 1024 ** 2, 9 * 1024 ** 2],
  ]);
  const gpt2 = { mlp: 8 * 768 ** 2, embedding: 50257 * 768, total: 124439808, cache: 12 * 2 * 768 };
  for (const [name, expected] of Object.entries(gpt2)) assert.equal(await live(page, `gpt2-${name}`), expected, name);
  await done(page);
});

test('price: another number of tokens', async () => {
  const page = await open();
  await set(page, 'price', 'tokens n', '250');
  const causal = (250 * 251) / 2;
  assert.equal(await live(page, 'full-250'), 62500);
  assert.equal(await live(page, 'causal-500'), (500 * 501) / 2);
  assert.equal(await live(page, 'all-heads'), causal * 270);
  near(await live(page, 'megabytes'), (causal * 270 * 4) / 1e6, 'MB');
  near(await live(page, 'ratio'), (500 * 501) / (250 * 251), 'ratio');
  assert.equal(await live(page, 'cache'), 250 * 11520);
  await done(page);
});

test('context floor: any text, counted position by position', async () => {
  const page = await open();
  const text = 'abracadabra, 😀 abracadabra 😀!';
  await set(page, 'floor', 'text', text);
  const letters = [...text];
  assert.equal(await live(page, 'characters'), letters.length);
  for (let k = 0; k <= 5; k++) {
    const places = letters.map((_, i) => i).filter((i) => i >= Math.max(1, k));
    const context = (i) => letters.slice(i - k, i).join('');
    let nats = 0;
    for (const i of places) {
      const alike = places.filter((j) => context(j) === context(i));
      nats -= Math.log(alike.filter((j) => letters[j] === letters[i]).length / alike.length);
    }
    near(await live(page, `floor-${k}`), nats / places.length, `k = ${k}`);
    assert.equal(await live(page, `contexts-${k}`), new Set(places.map(context)).size);
    assert.equal(await live(page, `predictions-${k}`), places.length);
  }
  // A text is data, whatever it looks like.
  await set(page, 'floor', 'text', '<b>x</b><script>1</script>');
  assert.equal(await page.$(`${inFigure('floor')} b`), null);
  await done(page);
});

// ---- the page as a whole ----

for (const width of [1280, 360]) {
  for (const theme of ['light', 'dark']) {
    test(`accessible and without sideways scroll at ${width} px, ${theme}`, async () => {
      const page = await open({ width, theme });
      // The page's policy refuses added scripts; evaluating is the test's own channel.
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      assert.deepEqual(
        violations.map((v) => `${v.id}: ${v.nodes.map((node) => node.target.join(' ')).join('; ')}`),
        [],
      );
      const sizes = await page.evaluate(() => ({
        page: document.documentElement.scrollWidth,
        small: [...document.querySelectorAll('button, input:not([type=checkbox]), select, textarea, summary, .switch')]
          .filter((element) => element.getBoundingClientRect().height < 28)
          .map((element) => element.outerHTML.slice(0, 80)),
        cut: [...document.querySelectorAll('.figure *')]
          .filter(
            (element) =>
              element.getBoundingClientRect().right > document.documentElement.clientWidth && element.checkVisibility(),
          )
          .map((element) => element.outerHTML.slice(0, 80)),
      }));
      assert.equal(sizes.page, width);
      assert.deepEqual([sizes.small, sizes.cut], [[], []]);
      await done(page);
    });
  }
}

test('keyboard: every control is reached in order, a slider moves by arrows, focus is seen', async () => {
  const page = await open();
  const total = await page.$$eval('.figure :is(button, input, select, textarea, summary)', (list) => list.length);
  const reached = [];
  await page.focus('a[href="#floor"]');
  for (let i = 0; i < 200; i++) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => {
      const element = document.activeElement;
      const figure = element.closest('.figure');
      if (!figure) return null;
      const style = getComputedStyle(element);
      return {
        index: [...document.querySelectorAll('.figure :is(button, input, select, textarea, summary)')].indexOf(element),
        outline: style.outlineStyle,
      };
    });
    if (stop) {
      assert.notEqual(stop.outline, 'none', `no visible focus on control ${stop.index}`);
      reached.push(stop.index);
    }
    if (reached.length === total) break;
  }
  assert.deepEqual(
    reached,
    Array.from({ length: total }, (_, i) => i),
  );
  await page.focus(`${inFigure('lookup')} input[type="range"]`);
  await page.keyboard.press('ArrowLeft');
  const [, weights] = await cells(page, 'lookup', 'Scores and weights');
  near(weights[3], shares([0, 19.5, 1])[1], 'pushed by key');
  await done(page);
});

test('theme: the button changes it, colours follow, the choice is kept', async () => {
  const page = await open();
  const look = () =>
    page.evaluate(() => [
      document.documentElement.dataset.theme,
      getComputedStyle(document.body).backgroundColor,
      getComputedStyle(document.querySelector('[data-byhand="mask"] .share td')).backgroundColor,
    ]);
  const light = await look();
  await page.click('[data-action="theme"]');
  await page.waitForFunction(
    (old) => getComputedStyle(document.querySelector('[data-byhand="mask"] .share td')).backgroundColor !== old,
    {},
    light[2],
  );
  const dark = await look();
  assert.equal(dark[0], 'dark');
  assert.notEqual(dark[1], light[1]);
  await page.reload();
  await page.waitForSelector('[data-byhand="scale"][data-state="drawn"]');
  assert.deepEqual(await look(), dark);
  await page.evaluate(() => localStorage.clear());
  await done(page);
});

test('stands alone: own origin only, works offline once loaded, nothing inline, no task over 50 ms from a change', async () => {
  const page = await open();
  const origin = new URL(server.url).origin;
  assert.deepEqual(
    page.requests.filter((url) => new URL(url).origin !== origin),
    [],
  );
  await page.setOfflineMode(true);
  await page.evaluate(() => {
    window.longTasks = [];
    new PerformanceObserver((list) =>
      window.longTasks.push(...list.getEntries().map((entry) => entry.duration)),
    ).observe({ type: 'longtask' });
  });
  // A busy machine makes tasks longer, never shorter: what is short once is short.
  const attempts = [];
  for (const width of [128, 120, 112, 104]) {
    await page.evaluate(() => (window.longTasks = []));
    await set(page, 'price', 'tokens n', String(width));
    await set(page, 'mask', 'words', width % 16 ? 'dog saw the mat' : 'the cat ran');
    await set(page, 'scale', 'another width d', String(width));
    await page.waitForFunction(
      (name) =>
        document.querySelector(name) && document.querySelector('[data-byhand="scale"]').dataset.state === 'drawn',
      {},
      `[data-live="top-plain-${width}"]`,
    );
    attempts.push(await page.evaluate(() => window.longTasks));
    if (!attempts.at(-1).length) break;
  }
  assert.deepEqual(attempts.at(-1), [], `tasks over 50 ms: ${JSON.stringify(attempts)}`);
  await page.setOfflineMode(false);
  const html = await (await fetch(`${server.url}by-hand.html`)).text();
  assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)/);
  assert.doesNotMatch(html, /\s(style|on\w+)=/);
  await done(page);
});

test('links: each section leads to its place in the model’s page, sources are named and reached', async () => {
  const page = await open();
  const sections = await page.$$eval('main section:not(.sources)', (list) =>
    list.map((section) => ({
      id: section.id,
      model: [...section.querySelectorAll('a[href*="index.html"]')].map((a) => a.getAttribute('href')),
      contents: document.querySelectorAll(`.contents a[href="#${section.id}"]`).length,
    })),
  );
  assert.equal(sections.length, 10);
  for (const { id, model, contents } of sections) {
    assert.equal(contents, 1, id);
    if (id !== 'saturation') assert.equal(model.length, 1, id);
    for (const href of model) {
      const [path, hash = ''] = href.split('#');
      assert.equal(path, './index.html');
      const view = decodeLink(hash);
      // What the address says is what the model's page reads.
      assert.equal(Object.keys(view).length, new URLSearchParams(hash).size, href);
      if (id === 'scale') assert.deepEqual([view.layer, view.head, view.token], [17, 4, 13]);
      if (id === 'floor') assert.equal(view.text, figures.context_floor.text);
    }
  }
  const broken = await page.$$eval('a[href^="#"]', (links) =>
    links.map((a) => a.getAttribute('href')).filter((href) => !document.querySelector(href)),
  );
  assert.deepEqual(broken, []);
  const sources = await page.$$eval('.sources li', (list) =>
    list.map((item) => [
      item.id,
      item.querySelector('a').href,
      document.querySelectorAll(`.words a[href="#${item.id}"]`).length,
    ]),
  );
  assert.equal(sources.length, 10);
  for (const [id, href, uses] of sources) {
    assert.match(href, /^https:\/\//, id);
    assert.ok(uses > 0, `${id} is not cited`);
  }
  await done(page);
});
