// The command line as a person calls it: answers against the reference, exit codes, what goes to which stream.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, test } from 'node:test';
import { WORDS_PROMPT } from '../../web/engine/figures.js';
import { readReference, referencePath, root } from './support/data.js';

/**
 * @param {string[]} args
 * @param {{input?: string}} [options]
 * @returns {Promise<{code: number, out: string, err: string}>}
 */
function run(args, { input = '' } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(`${root}/scripts/lookback`, args, { cwd: '/' });
    let [out, err] = ['', ''];
    child.stdout.on('data', (part) => (out += part));
    child.stderr.on('data', (part) => (err += part));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
    child.stdin.end(input);
  });
}
async function json(...args) {
  const { code, out, err } = await run([...args, '--json', '--threads', '1']);
  assert.equal(err, '');
  assert.equal(code, 0);
  return JSON.parse(out);
}
const near = (actual, expected, tolerance, what) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected}`);
const tiny = ['--model', referencePath('tiny/tiny-F32.gguf')];

describe('answers on the shipped weights', () => {
  test('tokens: ids and UTF-16 spans, special or plain', async () => {
    const text = 'Hi 😀<|im_end|>';
    const { tokens } = await json('tokens', text);
    assert.deepEqual(Object.keys(tokens[0]), ['id', 'text', 'start', 'end', 'special']);
    assert.deepEqual(tokens.at(-1), { id: 2, text: '<|im_end|>', start: 5, end: 15, special: true });
    assert.equal(tokens[0].start, 0);
    const plain = await json('tokens', '--plain', text);
    assert.ok(plain.tokens.every(({ special }) => !special) && plain.tokens.length > tokens.length);
    const { text: chat, ids } = readReference('forward_chat.json');
    const { out } = await run(['tokens', '--json', '-'], { input: chat });
    assert.deepEqual(
      JSON.parse(out).tokens.map(({ id }) => id),
      ids,
    );
  });

  test('look: the article’s table', async () => {
    const { l17h4_table: table } = readReference('seed_figures.json');
    const answer = await json('look', '--layer', '17', '--head', '4', '--at', '13', WORDS_PROMPT);
    assert.deepEqual([answer.layer, answer.head, answer.position, answer.rows.length], [17, 4, 13, 14]);
    assert.deepEqual(Object.keys(answer.rows[0]), ['position', 'id', 'text', 'qk', 'scaled', 'share']);
    table.forEach(({ here_share: share, here_qk: qk, token }, position) => {
      const row = answer.rows[position];
      near(row.share, share, 1e-4, token);
      near(row.qk, qk, 2e-3, token);
      assert.deepEqual([row.position, row.text], [position, token.replace('\u0120', ' ')]);
    });
  });

  test('next: ids, logits and full-vocabulary probabilities', async () => {
    const { positions } = readReference('forward_words.json');
    const { position, top } = await json('next', '--at', '13', '--top', '10', WORDS_PROMPT);
    assert.equal(position, 13);
    positions[13].top10.forEach(([id, logit, probability], index) => {
      assert.equal(top[index].id, id);
      near(top[index].logit, logit, 2e-4, id);
      near(top[index].probability, probability, 1e-5, id);
    });
    assert.equal((await json('next', WORDS_PROMPT)).position, 18);
  });

  test('heads: 270 rows by the reference’s definitions', async () => {
    const { heads } = await json('heads', WORDS_PROMPT);
    const { head_stats: stats } = readReference('causal_words.json');
    assert.equal(heads.length, 270);
    const names = {
      previous: 'previous_token',
      first: 'first_token',
      self: 'self',
      induction: 'induction',
      duplicate: 'duplicate_token',
      entropy: 'entropy',
    };
    for (const row of heads) {
      for (const [own, reference] of Object.entries(names))
        near(row[own], stats[reference][row.layer][row.head], 5e-5, `${own} ${row.layer}.${row.head}`);
    }
    const trophy = await json('heads', 'The trophy did not fit');
    assert.ok(trophy.heads.every(({ induction }) => induction === null));
  });

  test('lens: 31 rows, the last the model’s own', async () => {
    const { lens } = readReference('causal_words.json');
    const { layers } = await json('lens', '--at', '13', '--top', '3', WORDS_PROMPT);
    assert.equal(layers.length, 31);
    lens.forEach(({ top5 }, layer) => {
      assert.equal(layers[layer].layer, layer);
      assert.equal(layers[layer].top[0].id, top5[0][0], `layer ${layer}`);
      near(layers[layer].top[0].probability, top5[0][3], 5e-5, `layer ${layer}`);
    });
  });

  test('off: before, after and KL of a head, of several, and of a link', async () => {
    const causal = readReference('causal_words.json');
    const at = ['--at', '13', '--token', ' cloud'];
    const head = await json('off', '--head', '17.4', ...at, WORDS_PROMPT);
    assert.deepEqual(head.target, { id: 6249, text: ' cloud' });
    near(head.before.probability, causal.clean.prob, 1e-5, 'before');
    near(head.after.probability, causal.head_off.prob[17][4], 1e-5, 'after');
    near(head.after.logit, causal.head_off.logit[17][4], 2e-4, 'logit');
    near(head.kl, causal.head_off.kl[17][4], 1e-5, 'kl');
    assert.ok(head.top.length > 0);
    const unnamed = await json('off', '--head', '0.0', '--head', '1.5', WORDS_PROMPT);
    assert.equal(unnamed.position, 18);
    const [{ links, renorm }] = causal.links;
    const [layer, headOfLink, query, key] = links[0];
    const cut = await json('off', '--link', `${layer}.${headOfLink}:${query}>${key}`, ...at, WORDS_PROMPT);
    near(cut.after.probability, renorm.prob, 1e-5, 'link');
    near(cut.after.logit, renorm.logit, 2e-4, 'link');
    near(cut.kl, renorm.kl, 1e-5, 'link');
  });

  test('generate: the reference’s greedy tokens; a seed repeats itself', async () => {
    const { generation } = readReference('causal_words.json');
    const answer = await json('generate', '--max', '8', WORDS_PROMPT);
    assert.deepEqual(answer, { ids: generation.ids, text: generation.text, finish: 'length' });
    const streamed = await run(['generate', '--max', '8', '--threads', '1', WORDS_PROMPT]);
    assert.deepEqual(streamed, { code: 0, out: `${generation.text}\n`, err: '' });
    const seeded = [
      'generate',
      '--max',
      '5',
      '--temperature',
      '1',
      '--top-k',
      '50',
      '--top-p',
      '0.9',
      '--seed',
      '3',
      'Once',
    ];
    assert.deepEqual(await json(...seeded), await json(...seeded));
  });

  test('generate --chat: the template around the text, and the end token ends it', async () => {
    const reference = readReference('forward_chat.json');
    const question = /<\|im_start\|>user\n(.*?)<\|im_end\|>/s.exec(reference.text)[1];
    const { ids, finish } = await json('generate', '--chat', question);
    assert.deepEqual(
      ids,
      reference.greedy.steps.map(({ id }) => id),
    );
    assert.equal(finish, 'stop');
  });

  test('figures: every key, its article value, and ours within 1e-4', async () => {
    const { figures: expected } = readReference('seed_figures.json');
    const { weights, figures } = await json('figures');
    assert.equal(weights.bytes, 98362432);
    assert.deepEqual(
      figures.map(({ key }) => key),
      expected.map(({ key }) => key),
    );
    figures.forEach((figure, index) => {
      assert.deepEqual(Object.keys(figure), ['key', 'article', 'here', 'definition']);
      assert.equal(figure.article, expected[index].seed);
      near(figure.here, expected[index].here, 1e-4, figure.key);
    });
  });

  test('inspect: the header, and null for a hash that was not computed', async () => {
    const { code, out } = await run(['inspect', '--json', `${root}/models/SmolLM2-135M-Instruct.Q4_1.gguf`]);
    assert.equal(code, 0);
    const answer = JSON.parse(out);
    assert.deepEqual(Object.keys(answer), ['format', 'architecture', 'config', 'tensors', 'tokenizer', 'sha256']);
    assert.deepEqual([answer.format, answer.tensors.length, answer.sha256], ['gguf', 272, null]);
  });

  test('--precision fast stays within 0.05 of exact, and says what it is', async () => {
    const [exact, fast] = [
      await json('next', '--top', '5', WORDS_PROMPT),
      await json('next', '--top', '5', '--precision', 'fast', WORDS_PROMPT),
    ];
    fast.top.forEach(({ id, logit }) => {
      const same = exact.top.find((each) => each.id === id);
      if (same) near(logit, same.logit, 0.05, id);
    });
    assert.equal(fast.top[0].id, exact.top[0].id);
  });

  test('--variant simd128 and relaxed agree; relaxed runs here even where Node hides it', async () => {
    const at = (variant) => json('next', '--top', '3', '--variant', variant, WORDS_PROMPT);
    const [simd128, relaxed] = [await at('simd128'), await at('relaxed')];
    simd128.top.forEach(({ id, logit }, index) => {
      assert.equal(relaxed.top[index].id, id);
      near(relaxed.top[index].logit, logit, 4e-4, id);
    });
  });

  test('two threads give the answer of one', async () => {
    const { out } = await run(['next', '--json', '--threads', '2', '--top', '3', WORDS_PROMPT]);
    const one = await json('next', '--top', '3', WORDS_PROMPT);
    JSON.parse(out).top.forEach(({ id, logit }, index) => {
      assert.equal(id, one.top[index].id);
      near(logit, one.top[index].logit, 1e-4, id);
    });
  });
});

describe('exit codes and streams', () => {
  const lacks = async (args, pattern) => {
    const { code, out, err } = await run(args);
    assert.equal(code, 2, err);
    assert.equal(out, '');
    assert.match(err, pattern);
    assert.match(err, /^usage: scripts\/lookback/m);
  };

  test('a wrong call: 2, with usage', async () => {
    await lacks([], /no verb/);
    await lacks(['fly'], /fly/);
    await lacks(['tokens'], /one TEXT, 0 came/);
    await lacks(['tokens', 'a', 'b'], /2 came/);
    await lacks(['tokens', '--at', '1', 'a'], /--at/);
    await lacks(['look', 'a'], /--layer and --head/);
    await lacks(['look', '--layer', 'x', '--head', '0', 'a'], /--layer is x/);
    await lacks(['off', 'a'], /--head or --link/);
    await lacks(['off', '--head', '17', 'a'], /LAYER\.HEAD/);
    await lacks(['off', '--link', '1.1:2-3', 'a'], /QUERY>KEY/);
    await lacks(['next', '--precision', 'half', 'a'], /exact or fast/);
    await lacks(['next', '--threads', '-1', 'a'], /threads/);
    await lacks(['figures', 'a'], /no text/);
  });

  test('a refusal: 1, with one line that names the code', async () => {
    const refuses = async (args, pattern, options) => {
      const { code, out, err } = await run(args, options);
      assert.equal(code, 1, err);
      assert.equal(out, '');
      assert.match(err, pattern);
      assert.equal(err.trimEnd().split('\n').length, 1, err);
    };
    await refuses(['next', ''], /^error: empty_prompt: /);
    await refuses(['next', '-'], /^error: empty_prompt: /, { input: '' });
    await refuses(['next', '--at', '9', ...tiny, 'a'], /^error: bad_argument: .*9/);
    await refuses(['look', '--layer', '30', '--head', '0', ...tiny, 'a'], /^error: bad_argument: /);
    await refuses(['off', '--head', '0.0', '--token', 'two tokens', 'some text'], /^error: bad_argument: .*two/);
    await refuses(['next', '--model', '/nowhere/x.gguf', 'a'], /^error: not_found: \/nowhere\/x\.gguf/);
    await refuses(['next', '--model', referencePath('malformed/gguf_magic.gguf'), 'a'], /^error: bad_magic: /);
    await refuses(['inspect', '/nowhere.gguf'], /^error: not_found: /);
    await refuses(['next', '--threads', '0', ...tiny, 'a'], /^error: bad_argument: threads/);
  });

  test('text that begins with a dash comes after --', async () => {
    const { code, out } = await run(['tokens', '--json', ...tiny, '--', '--text']);
    assert.equal(code, 0);
    assert.ok(JSON.parse(out).tokens.length > 0);
  });

  test('tables for a person round, --json does not', async () => {
    const { out } = await run(['next', ...tiny, 'the']);
    assert.match(out, /probability/);
    const { top } = await json('next', ...tiny, 'the');
    assert.ok(top.some(({ probability }) => String(probability).length > 10));
  });
});
