// The package over the built engine, in this process: reference numbers, formats, files that lie, cancel, memory.
import assert from 'node:assert/strict';
import { createReadStream, readFileSync } from 'node:fs';
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { computeFigures, WORDS_PROMPT } from '../../web/engine/figures.js';
import { inspectFile, loadModel, LookbackError } from '../../web/engine/index.js';
import { sha256 } from './support/bad_server.js';
import { readReference, referencePath, weightsPath } from './support/data.js';

const one = { threads: 1 };
const near = (actual, expected, tolerance, what) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected} ± ${tolerance}`);

describe('the shipped weights', () => {
  /** @type {import('../../web/engine/index.js').Model} */
  let model;
  /** @type {import('../../web/engine/index.js').Pass} */
  let words;
  before(async () => {
    model = await loadModel(weightsPath, one);
    words = await model.forward(WORDS_PROMPT);
  });
  after(() => model?.dispose());

  test('info describes them', () => {
    const { weights, memoryBytes, threadsReason, ...info } = model.info;
    assert.deepEqual(info, {
      architecture: 'llama',
      layers: 30,
      heads: 9,
      kvHeads: 3,
      headDim: 64,
      hidden: 576,
      feedForward: 1536,
      vocab: 49152,
      contextLength: 8192,
      parameters: 134515008,
      precision: 'exact',
      threads: 1,
      variant: info.variant,
    });
    assert.ok(['simd128', 'relaxed'].includes(info.variant));
    assert.equal(threadsReason, 'one thread was asked for');
    assert.ok(memoryBytes > 98e6 && memoryBytes < 400e6, String(memoryBytes));
    assert.equal(weights.format, 'gguf');
    assert.equal(weights.bytes, 98362432);
    assert.deepEqual([...weights.dtypes].sort(), ['F32', 'Q4_1', 'Q8_0']);
    assert.match(weights.sha256, /^[0-9a-f]{64}$/);
  });

  test('every figure of the article as computed in float64 on these weights, within 1e-4', async () => {
    const expected = readReference('seed_figures.json').figures;
    const figures = await computeFigures(model);
    assert.deepEqual(
      figures.map(({ key }) => key),
      expected.map(({ key }) => key),
    );
    for (const { key, here, article } of figures) {
      const reference = expected.find((each) => each.key === key);
      near(here, reference.here, 1e-4, key);
      assert.equal(article, reference.seed, key);
    }
  });

  test('the table of layer 17 head 4', async () => {
    const table = readReference('seed_figures.json').l17h4_table;
    const { qk, scaled, share } = await words.row(17, 4, 13);
    table.forEach((row, key) => {
      near(qk[key], row.here_qk, 2e-3, `qk ${key}`);
      near(scaled[key], row.here_scaled, 3e-4, `scaled ${key}`);
      near(share[key], row.here_share, 1e-4, `share ${key}`);
    });
  });

  test('logits of every reference prompt within 2e-4 at the last position', async () => {
    for (const name of ['words', 'trophy', 'chat', 'passage', 'mixed']) {
      const reference = readReference(`forward_${name}.json`);
      const pass = await model.forward(reference.text);
      assert.deepEqual(
        pass.tokens.map(({ id }) => id),
        reference.ids,
        name,
      );
      const logits = await pass.logits();
      assert.equal(logits.length, 49152);
      const top = await pass.top(50);
      const [, firstProbability] = reference.last_top50[0];
      near(top[0].probability, firstProbability, 2e-5, name);
      assert.equal(top[0].id, reference.last_top50[0][0]);
      for (const [position, { top10 }] of (reference.positions ?? []).entries()) {
        if (!top10 || position % 10) continue;
        const at = await pass.logits(position);
        for (const [id, logit] of top10) near(at[id], logit, 2e-4, `${name} ${position} ${id}`);
      }
      pass.dispose();
    }
  });

  test('two reads give two arrays: moving one away leaves the next whole', async () => {
    const first = await words.logits();
    structuredClone(first, { transfer: [first.buffer] });
    assert.equal(first.length, 0);
    assert.equal((await words.logits()).length, 49152);
    const token = words.tokens[0];
    token.bytes.fill(0);
    assert.equal((await model.tokenize('Words'))[0].bytes[0], 'W'.charCodeAt(0));
  });

  test('lens ends with the logits; attribution sums to the logit', async () => {
    const lens = await words.lens(13, 3);
    assert.deepEqual(
      lens.map(({ layer }) => layer),
      Array.from({ length: 31 }, (_, index) => index),
    );
    const top = await words.top(3, 13);
    lens[30].top.forEach(({ id, logit, text }, index) => {
      assert.equal(id, top[index].id);
      assert.equal(text, top[index].text);
      near(logit, top[index].logit, 2e-4, 'lens');
    });
    const causal = readReference('causal_words.json');
    const parts = await words.attribution(6249, 13);
    const sum = parts.embedding + parts.heads.reduce((a, b) => a + b, 0) + parts.mlps.reduce((a, b) => a + b, 0);
    near(sum, parts.logit, 2e-4, 'sum of parts');
    near(parts.logit, causal.clean.logit, 2e-4, 'logit');
    const terms = causal.attribution.target_terms;
    near(parts.embedding, terms.embedding, 1e-4, 'embedding');
    terms.heads.flat().forEach((term, index) => near(parts.heads[index], term, 1e-4, `head ${index}`));
    terms.mlps.forEach((term, layer) => near(parts.mlps[layer], term, 1e-4, `mlp ${layer}`));
  });

  test('products sum to the score in the reference’s order; written norms; effects of single heads', async () => {
    const causal = readReference('causal_words.json');
    for (const { layer, head, q: query, k: key, hf_order: order } of causal.slot_products) {
      const products = await words.products(layer, head, query, key);
      order.forEach((value, slot) => near(products[slot], value, 1e-3, `slot ${slot}`));
    }
    for (const { layer, head, pos: query, share_x_ov: norms } of causal.value_weighted) {
      const written = await words.written(layer, head, query);
      norms.forEach((value, key) => near(written[key], value, 1e-3, `written ${key}`));
    }
    let seen = 0;
    for await (const { layer, head, probability, kl } of words.effects(6249, 13)) {
      near(probability, causal.head_off.prob[layer][head], 2e-5, `effect of ${layer}.${head}`);
      near(kl, causal.head_off.kl[layer][head], 2e-5, `KL of ${layer}.${head}`);
      if (++seen === 27) break;
    }
    assert.equal(seen, 27);
  });

  test('head statistics: 270 rows, null where nothing qualifies', async () => {
    const { induction_all: induction } = readReference('seed_figures.json');
    for (const row of await words.heads())
      near(row.induction, induction[row.layer][row.head], 2e-5, `${row.layer}.${row.head}`);
    const lone = await model.forward('a');
    const [row] = await lone.heads();
    assert.deepEqual(row, {
      layer: 0,
      head: 0,
      previous: null,
      first: null,
      self: null,
      induction: null,
      duplicate: null,
      entropy: null,
    });
    lone.dispose();
  });

  test('heads off: layer 17 head 4 and the article’s effect of it', async () => {
    const causal = readReference('causal_words.json');
    const changed = await model.forward(WORDS_PROMPT, { off: [{ layer: 17, head: 4 }] });
    const logits = await changed.logits(13);
    near(logits[6249], causal.head_off.logit[17][4], 2e-4, 'logit');
    const rows = await changed.row(17, 4, 13);
    assert.equal(rows.share.length, 14);
    changed.dispose();
    await assert.rejects(model.forward(WORDS_PROMPT, { off: [{ layer: 3, head: 1, query: 0, key: 0 }] }), {
      code: 'bad_argument',
    });
    const cut = await model.forward(WORDS_PROMPT, { off: [{ layer: 17, head: 4, query: 13, key: 5 }] });
    const row = await cut.row(17, 4, 13);
    assert.equal(row.share[5], 0);
    assert.equal(row.scaled[5], -Infinity);
    assert.ok(Number.isFinite(row.qk[5]));
    near(
      row.share.reduce((a, b) => a + b, 0),
      1,
      1e-5,
      'row sum',
    );
    cut.dispose();
  });

  test('generate gives the reference’s greedy continuation, its rows, and the same as a fresh pass', async () => {
    const { generation } = readReference('causal_words.json');
    const ids = [];
    let text = '';
    for await (const token of model.generate(WORDS_PROMPT, { maxTokens: 8 })) {
      const step = generation.steps[ids.length];
      ids.push(token.id);
      text += token.text;
      const { share } = await token.pass.row(17, 4, token.pass.length - 1);
      assert.equal(token.pass.length - 1, step.pos);
      step.rows.L17H4.forEach((value, key) => near(share[key], value, 1e-4, `row of ${step.pos}`));
      token.pass.dispose();
    }
    assert.deepEqual(ids, generation.ids);
    assert.equal(text, generation.text);
  });

  test('chat: the template’s ids, and an answer that ends by its end token', async () => {
    const reference = readReference('forward_chat.json');
    const question = /<\|im_start\|>user\n(.*?)<\|im_end\|>/s.exec(reference.text)[1];
    const prompt = await model.chat([{ role: 'user', content: question }]);
    assert.deepEqual(prompt, reference.ids);
    const ids = [];
    let text = '';
    const run = model.generate(prompt, { maxTokens: reference.greedy.steps.length + 5 });
    let step = await run.next();
    for (; !step.done; step = await run.next()) {
      ids.push(step.value.id);
      text += step.value.text;
      step.value.pass.dispose();
    }
    assert.equal(step.value, 'stop');
    assert.deepEqual(
      ids,
      reference.greedy.steps.map(({ id }) => id),
    );
    assert.equal(text, await model.detokenize(ids, { skipSpecial: true }));
  });

  test('an abort during a long prefill answers at once, and the next answer equals a fresh model’s', async () => {
    const long = Array.from({ length: 600 }, (_, index) => 1000 + ((index * 37) % 40000));
    const controller = new AbortController();
    const running = model.forward(long, { signal: controller.signal });
    await new Promise((resolve) => setTimeout(resolve, 150));
    const asked = performance.now();
    controller.abort();
    await assert.rejects(running, { name: 'AbortError', code: 'cancelled' });
    assert.ok(performance.now() - asked < 250);
    const after = await model.forward('The capital of France is');
    const fresh = await loadModel(weightsPath, one);
    const expected = await fresh.forward('The capital of France is');
    assert.deepEqual(await after.logits(), await expected.logits());
    await fresh.dispose();
    after.dispose();
  });

  test('a prompt that shares a living pass’s beginning gives the bits of one that does not', async () => {
    const shared = await model.forward(`${WORDS_PROMPT}. And`);
    const fresh = await model.forward(
      shared.tokens.map(({ id }) => id),
      { off: [] },
    );
    words.dispose();
    shared.dispose();
    const alone = await model.forward(`${WORDS_PROMPT}. And`);
    assert.deepEqual(await fresh.logits(), await alone.logits());
    assert.deepEqual(await fresh.row(17, 4, 13), await alone.row(17, 4, 13));
    words = await model.forward(WORDS_PROMPT);
    fresh.dispose();
    alone.dispose();
  });

  test('limits are typed errors with the limit in them', async () => {
    const rejects = (promise, code, pattern) =>
      assert.rejects(
        promise,
        (error) => error instanceof LookbackError && error.code === code && pattern.test(error.message),
      );
    await rejects(model.forward(''), 'empty_prompt', /8192/);
    await rejects(model.forward(new Array(8193).fill(5)), 'context_full', /8193.*8192/);
    await rejects(model.forward([49152]), 'bad_token', /49151/);
    await rejects(words.row(30, 0, 0), 'bad_argument', /30/);
    await rejects(words.row(0, 9, 0), 'bad_argument', /9/);
    await rejects(words.row(0, 0, 19), 'bad_argument', /19/);
    await rejects(words.top(3, 19), 'bad_argument', /19/);
    const bare = await model.forward('no rows', { keep: 'none' });
    await rejects(bare.row(0, 0, 0), 'wrong_state', /./);
    bare.dispose();
  });
});

describe('small models of every format', async () => {
  const files = (await readdir(referencePath('tiny'))).filter((name) =>
    /\.(gguf|onnx)$|^tiny-hf-[A-Z0-9]+$/.test(name),
  );
  for (const name of files) {
    test(`${name}: logits and greedy tokens as the reference's`, async () => {
      const expected = readReference(`tiny/${name.replace(/\.(gguf|onnx)$/, '')}.expected.json`);
      const path = referencePath(`tiny/${name}`);
      const source = name.endsWith('.onnx')
        ? {
            weights: path,
            config: referencePath('tiny/tiny-hf-F32/config.json'),
            tokenizer: referencePath('tiny/tiny-hf-F32/tokenizer.json'),
          }
        : path;
      const model = await loadModel(source, one);
      const pass = await model.forward(expected.ids);
      const position = expected.ids.length - 1;
      const logits = await pass.logits();
      expected.logits[position].forEach((value, id) => near(logits[id], value, 2e-4, `logit ${id}`));
      const greedy = [];
      for await (const token of model.generate(expected.ids, { maxTokens: 16 })) {
        greedy.push(token.id);
        token.pass.dispose();
      }
      assert.deepEqual(greedy, expected.greedy16.slice(0, greedy.length));
      // A tiny model may say an end token by chance; the run ends there.
      assert.ok(greedy.length === 16 || [0, 2].includes(greedy.at(-1)), String(greedy));
      await model.dispose();
    });
  }

  test('an .onnx without config.json names both files and both folders', async () => {
    await assert.rejects(
      loadModel(referencePath('tiny/tiny-onnx-named.onnx'), one),
      (error) =>
        error.code === 'missing_config' &&
        /tiny\/config\.json nor at .*reference\/config\.json.*tokenizer\.json/.test(error.message),
    );
  });

  test('safetensors in parts with an index give the bits of the whole', async () => {
    const whole = referencePath('tiny/tiny-hf-F16');
    const bytes = readFileSync(join(whole, 'model.safetensors'));
    const size = Number(bytes.readBigUInt64LE(0));
    const header = JSON.parse(bytes.subarray(8, 8 + size).toString());
    const data = bytes.subarray(8 + size);
    const folder = await mkdtemp(join(tmpdir(), 'lookback-parts-'));
    try {
      const map = {};
      const names = Object.keys(header).filter((name) => name !== '__metadata__');
      for (const part of [0, 1]) {
        const file = `model-0000${part + 1}-of-00002.safetensors`;
        const pieces = [];
        const own = {};
        let at = 0;
        for (const name of names.filter((_, index) => index % 2 === part)) {
          const piece = data.subarray(...header[name].data_offsets);
          own[name] = { ...header[name], data_offsets: [at, (at += piece.length)] };
          pieces.push(piece);
          map[name] = file;
        }
        const text = Buffer.from(JSON.stringify(own));
        const length = Buffer.alloc(8);
        length.writeBigUInt64LE(BigInt(text.length));
        await writeFile(join(folder, file), Buffer.concat([length, text, ...pieces]));
      }
      await writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }));
      for (const name of ['config.json', 'tokenizer.json']) await copyFile(join(whole, name), join(folder, name));
      const logits = [];
      for (const source of [whole, folder]) {
        const model = await loadModel(source, one);
        logits.push(await (await model.forward([10, 11, 12])).logits());
        await model.dispose();
      }
      assert.deepEqual(logits[1], logits[0]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('external data of an ONNX file is read from beside it, or as given', async () => {
    // The same model with one matrix outside; its bytes stand in the whole one where the two files part.
    const whole = readFileSync(referencePath('malformed/ok.onnx'));
    // The broken file also understates the matrix's bytes.
    const text = readFileSync(referencePath('malformed/onnx_external_missing.onnx'), 'latin1');
    const without = Buffer.from(text.replace('\x12\x042048', '\x12\x044096'), 'latin1');
    const field = without.indexOf('location\x12') + 'location\x12'.length;
    const name = without.subarray(field + 1, field + 1 + without[field]).toString();
    let apart = 1000;
    while (whole[apart] === without[apart]) apart++;
    const matrix = 32 * 32 * 4;
    const at = whole.indexOf(Buffer.from([0x4a, 0x80, 0x20]), apart) + 3;
    const side = {
      config: referencePath('malformed/config.json'),
      tokenizer: referencePath('malformed/tokenizer.json'),
    };
    const logits = [];
    for (const source of [
      { ...side, weights: referencePath('malformed/ok.onnx') },
      { ...side, weights: new Blob([without]), external: { [name]: whole.subarray(at, at + matrix) } },
    ]) {
      const model = await loadModel(source, one);
      logits.push(await (await model.forward([5, 6, 7])).logits());
      await model.dispose();
    }
    assert.deepEqual(logits[1], logits[0]);
    await assert.rejects(
      loadModel({ ...side, weights: new Blob([without]) }, one),
      (error) => error.code === 'missing_file' && error.message.includes(name),
    );
  });

  test('a Blob, a File, bytes and a file: URL are sources too', async () => {
    const bytes = readFileSync(referencePath('tiny/tiny-Q8_0.gguf'));
    for (const source of [
      new Blob([bytes]),
      new File([bytes], 'mine.gguf'),
      bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
      new Uint8Array(bytes),
      new URL(`file://${referencePath('tiny/tiny-Q8_0.gguf')}`),
    ]) {
      const model = await loadModel(source, { ...one, sha256: sha256(bytes) });
      assert.equal(model.info.weights.sha256, sha256(bytes));
      assert.equal(model.info.weights.verified, 'option');
      await model.dispose();
    }
  });

  test('a path with spaces and other letters', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'look back é '));
    try {
      const path = join(folder, 'my weights.gguf');
      await copyFile(referencePath('tiny/tiny-Q4_1.gguf'), path);
      for (const source of [path, folder]) {
        const model = await loadModel(source, one);
        assert.equal(model.info.layers, 3);
        await model.dispose();
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  for (const threads of [1, 2]) {
    test(`load and dispose twenty times with ${threads} thread(s): the engine's memory and the process stay flat`, async () => {
      const path = referencePath('tiny/tiny-F32.gguf');
      const sizes = [];
      const resident = [];
      for (let round = 0; round < 20; round++) {
        const model = await loadModel(path, { threads });
        const pass = await model.forward([10, 11, 12]);
        await pass.logits();
        sizes.push(model.info.memoryBytes);
        await model.dispose();
        resident.push(process.memoryUsage.rss());
      }
      assert.ok(sizes.at(-1) <= sizes[0] * 1.1, sizes.join(' '));
      // Twenty engines that stayed would be twenty times their memory; the collector may leave a few for later.
      assert.ok(resident.at(-1) - resident[4] < 6 * sizes[0], `${resident.join(' ')}, one engine has ${sizes[0]}`);
    });
  }
});

describe('files that lie', () => {
  const { cases } = readReference('malformed/cases.json');
  const fileOf = (name) => referencePath(`malformed/${name}`);
  const sourceOf = (name) => {
    if (name.endsWith('.gguf')) return fileOf(name);
    const side = { config: fileOf('config.json'), tokenizer: fileOf('tokenizer.json') };
    if (name.startsWith('cfg_')) return { ...side, weights: fileOf('ok.safetensors'), config: fileOf(name) };
    if (name.startsWith('tok_')) return { ...side, weights: fileOf('ok.safetensors'), tokenizer: fileOf(name) };
    return { ...side, weights: fileOf(name) };
  };

  test('the sound ones load', async () => {
    for (const name of ['ok.gguf', 'ok.safetensors', 'ok.onnx']) {
      const model = await loadModel(sourceOf(name), one);
      const pass = await model.forward([5, 6, 7]);
      assert.ok((await pass.logits()).every(Number.isFinite));
      await model.dispose();
    }
  });

  for (const { file, wrong } of cases) {
    test(`${file}: ${wrong}`, async () => {
      const error = await loadModel(sourceOf(file), one)
        .then(async (model) => {
          // Weights that are no numbers may show at the first pass.
          const pass = await model.forward([5, 6, 7]);
          await pass.logits();
          return null;
        })
        .catch((reason) => reason);
      assert.ok(error instanceof LookbackError, `no error, or ${error}`);
      assert.ok(!['fatal', 'internal', 'cancelled'].includes(error.code), `${error.code}: ${error.message}`);
      assert.ok(error.message.length > 15, error.message);
    });
  }
});

describe('inspect', () => {
  test('reads the header of the shipped weights alone', async () => {
    const { format, architecture, config, tensors, tokenizer, sha256: hash } = await inspectFile(weightsPath);
    assert.deepEqual([format, architecture, tensors.length, hash], ['gguf', 'llama', 272, null]);
    assert.equal(config.layers, 30);
    assert.deepEqual(tokenizer, { model: 'gpt2', pre: 'smollm', n_tokens: 49152, n_merges: tokenizer.n_merges });
    assert.deepEqual(
      tensors.find(({ name }) => name === 'token_embd.weight'),
      { name: 'token_embd.weight', dtype: 'Q8_0', shape: [49152, 576] },
    );
  });

  test('a file that comes whole has its hash', async () => {
    const path = referencePath('tiny/tiny-onnx-named.onnx');
    const inspection = await inspectFile({ weights: path, config: referencePath('tiny/tiny-hf-F32/config.json') });
    assert.equal(inspection.format, 'onnx');
    const bytes = [];
    for await (const chunk of createReadStream(path)) bytes.push(chunk);
    assert.equal(inspection.sha256, sha256(Buffer.concat(bytes)));
    const folder = await inspectFile(referencePath('tiny/tiny-hf-BF16'));
    assert.deepEqual([folder.format, folder.architecture], ['safetensors', 'llama']);
    assert.ok(folder.tensors.every(({ dtype }) => dtype === 'BF16'));
  });
});
