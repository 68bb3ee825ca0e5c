// Chat templates against Python's Jinja, and the sampler's properties.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { renderChat } from '../../web/engine/chat.js';
import { argmax, createSampler, seededRandom } from '../../web/engine/sampler.js';
import { Tokenizer } from '../../web/engine/tokenizer.js';
import { fromGguf } from '../../web/engine/tokenizer_data.js';
import { readReference, weightsPath } from './support/data.js';
import { ggufTokenizer } from './support/gguf_tokenizer.js';

describe('chat templates', () => {
  const { templates, cases } = JSON.parse(readFileSync(new URL('../data/chat_goldens.json', import.meta.url), 'utf8'));

  test('render as Python’s Jinja does', () => {
    assert.equal(cases.length, 60);
    for (const { template, messages, add_generation_prompt: addGenerationPrompt, text } of cases) {
      const rendered = renderChat(templates[template], messages, {
        bosToken: '<|im_start|>',
        eosToken: '<|im_end|>',
        addGenerationPrompt,
      });
      assert.equal(rendered, text, `${template}: ${JSON.stringify(messages)}`);
    }
  });

  test('the weights’ own template gives the reference’s ids', async () => {
    const data = fromGguf(await ggufTokenizer(weightsPath));
    const { text, ids } = readReference('forward_chat.json');
    const question = /<\|im_start\|>user\n(.*?)<\|im_end\|>/s.exec(text)[1];
    const rendered = renderChat(data.chatTemplate, [{ role: 'user', content: question }]);
    assert.equal(rendered, text);
    assert.deepEqual(
      new Tokenizer(data).encode(rendered).map(({ id }) => id),
      ids,
    );
  });

  test('no template, no messages, a template that refuses: each a typed error', () => {
    const one = [{ role: 'user', content: 'a' }];
    assert.throws(() => renderChat(null, one), { code: 'bad_template' });
    assert.throws(() => renderChat('{{ 1 }}', []), { code: 'bad_argument' });
    assert.throws(() => renderChat('{{ 1 }}', [{ role: 'user' }]), { code: 'bad_argument' });
    assert.throws(
      () => renderChat("{{ raise_exception('only users') }}", one),
      (error) => error.code === 'bad_template' && /only users/.test(error.message),
    );
    assert.throws(() => renderChat('{% for %}', one), { code: 'bad_template' });
  });
});

describe('the sampler', () => {
  const logits = Float32Array.from({ length: 50 }, (_, id) => Math.sin(id * 12.9898) * 4);
  const draws = (options, count = 4000) => {
    const sample = createSampler(options);
    return Array.from({ length: count }, () => sample(logits));
  };
  const ranked = [...logits.keys()].sort((a, b) => logits[b] - logits[a]);

  test('temperature 0 is the highest logit, the lowest id of equals', () => {
    assert.equal(createSampler({})(logits), ranked[0]);
    assert.equal(argmax(Float32Array.of(1, 3, 3, 2)), 1);
  });

  test('one seed, one sequence; another seed, another', () => {
    assert.deepEqual(draws({ temperature: 1, seed: 7 }, 100), draws({ temperature: 1, seed: 7 }, 100));
    assert.notDeepEqual(draws({ temperature: 1, seed: 7 }, 100), draws({ temperature: 1, seed: 8 }, 100));
  });

  test('topK and topP leave only the most probable', () => {
    assert.deepEqual(new Set(draws({ temperature: 2, topK: 3, seed: 1 })), new Set(ranked.slice(0, 3)));
    assert.deepEqual(new Set(draws({ temperature: 1, topK: 1 })), new Set([ranked[0]]));
    const exp = ranked.map((id) => Math.exp(logits[id]));
    const total = exp.reduce((a, b) => a + b);
    let kept = 0;
    const nucleus = ranked.filter((_, index) => {
      const inside = kept < 0.6;
      if (inside) kept += exp[index] / total;
      return inside;
    });
    assert.deepEqual(new Set(draws({ temperature: 1, topP: 0.6, seed: 3 })), new Set(nucleus));
  });

  test('frequencies follow the softmax at that temperature', () => {
    const temperature = 1.5;
    const count = 20000;
    const seen = new Map();
    for (const id of draws({ temperature, seed: 11 }, count)) seen.set(id, (seen.get(id) ?? 0) + 1);
    const exp = Array.from(logits, (logit) => Math.exp(logit / temperature));
    const total = exp.reduce((a, b) => a + b);
    // Pearson's statistic over 50 classes: 49 degrees of freedom, 95 at a chance of 1e-4.
    const statistic = exp.reduce(
      (sum, each, id) => sum + ((seen.get(id) ?? 0) - (count * each) / total) ** 2 / ((count * each) / total),
      0,
    );
    assert.ok(statistic < 95, String(statistic));
  });

  test('the generator’s first numbers stay what they are', () => {
    const random = seededRandom(1);
    assert.deepEqual([random(), random(), random()], [0.6270739405881613, 0.002735721180215478, 0.5274470399599522]);
  });

  test('options out of range are named', () => {
    for (const options of [
      { temperature: -1 },
      { temperature: NaN },
      { topK: 1.5 },
      { topP: 0 },
      { topP: 1.1 },
      { seed: -1 },
    ]) {
      const [name] = Object.keys(options);
      assert.throws(
        () => createSampler(options),
        (error) => error.code === 'bad_argument' && error.message.startsWith(name),
      );
    }
  });
});
