/** Shapes and parameter counts of GPT-2 small beside SmolLM2-135M, for any number of tokens. */
import { controls, numberField } from '../fields.js';
import { count, fixed, plain } from '../format.js';
import { attentionShapes, cacheFloats, GPT2_SMALL, pairs, parameters, SMOLLM2_135M } from '../maths/counts.js';
import { num, said, shape, slot, table } from '../tables.js';

/** @param {HTMLElement} root @returns {() => void} */
export function shapesFigure(root) {
  const tokens = numberField({
    label: 'tokens n',
    initial: 5,
    min: 1,
    max: 8192,
    whole: true,
    onChange: () => update(),
  });
  const shapes = slot();
  const counts = slot();
  const scores = slot();
  const sentence = said();
  root.append(controls([tokens]), shapes, scores, counts, sentence);
  const heads = ['', GPT2_SMALL.name, SMOLLM2_135M.name];
  const whole = (n, at, live) => num(n, { at, live, print: count });

  function update() {
    const n = tokens.value();
    const [gpt, smol] = [GPT2_SMALL, SMOLLM2_135M].map((model) => attentionShapes(model, n));
    const five = (name) => (n === 5 ? `gpt2_small/${name}` : undefined);
    shapes.replaceChildren(
      table({
        caption: `Shapes in one layer, n = ${count(n)}`,
        heads,
        rows: [
          [
            'width of a token, d_model',
            num(GPT2_SMALL.width, { at: 'gpt2_small/d_model', print: plain }),
            plain(SMOLLM2_135M.width),
          ],
          [
            'heads',
            num(GPT2_SMALL.heads, { at: 'gpt2_small/heads', print: plain }),
            `${SMOLLM2_135M.heads} over ${SMOLLM2_135M.kvHeads}`,
          ],
          [
            'width of a head, d_k',
            num(GPT2_SMALL.headDim, { at: 'gpt2_small/d_k', print: plain }),
            plain(SMOLLM2_135M.headDim),
          ],
          ['queries Q', shape(gpt.Q, five('Q')), shape(smol.Q)],
          ['keys K, values V', shape(gpt.K), shape(smol.K)],
          ['scores S', shape(gpt.S, five('S')), shape(smol.S)],
          ['mixed values A V', shape(gpt.AV, five('AV')), shape(smol.AV)],
          ['heads joined', shape(gpt.joined, five('joined')), shape(smol.joined)],
          ['output', shape(gpt.out, five('out')), shape(smol.out)],
        ],
      }),
    );
    // At the longest text of GPT-2 and at n = 5 these are the walkthrough's own figures.
    const score = (model, tokenCount, perLayer) => {
      const value = pairs(tokenCount).full * (perLayer ? model.heads : 1);
      const known = model === GPT2_SMALL && [5, GPT2_SMALL.maxTokens].includes(tokenCount);
      const i = (tokenCount === 5 ? 3 : 5) + (perLayer ? 1 : 0);
      const name = `gpt2_small/scores_n${tokenCount}${perLayer ? '_layer' : ''}`;
      return whole(
        value,
        known ? `${name} gpt2_small/seed/${i}` : null,
        `${model === GPT2_SMALL ? 'gpt2' : 'smollm2'}-scores${perLayer ? '-layer' : ''}-${tokenCount}`,
      );
    };
    const row = (label, tokenCount, perLayer) => [
      label,
      score(GPT2_SMALL, tokenCount, perLayer),
      score(SMOLLM2_135M, tokenCount, perLayer),
    ];
    scores.replaceChildren(
      table({
        caption: 'Scores: one for each pair of tokens, n²',
        heads,
        rows: [
          row(`one head, n = ${count(n)}`, n, false),
          row(`one layer, n = ${count(n)}`, n, true),
          ...(n === GPT2_SMALL.maxTokens
            ? []
            : [
                row(`one head, n = ${count(GPT2_SMALL.maxTokens)}`, GPT2_SMALL.maxTokens, false),
                row(`one layer, n = ${count(GPT2_SMALL.maxTokens)}`, GPT2_SMALL.maxTokens, true),
              ]),
        ],
      }),
    );
    const [g, s] = [parameters(GPT2_SMALL), parameters(SMOLLM2_135M)];
    const small = (name) => `smollm2_135m_counts/${name}`;
    counts.replaceChildren(
      table({
        caption: 'Numbers that were learnt',
        heads,
        rows: [
          [
            'attention of a layer, 4 matrices',
            whole(g.attention, 'gpt2_small/params_4_matrices gpt2_small/seed/0'),
            whole(s.attention, small('attention_params_per_layer')),
          ],
          [
            '… with biases',
            whole(g.attention + g.attentionBiases, 'gpt2_small/params_with_biases gpt2_small/seed/1'),
            'no biases',
          ],
          ['feed-forward of a layer', whole(g.mlp, null, 'gpt2-mlp'), whole(s.mlp, small('mlp_params_per_layer'))],
          ['token embedding', whole(g.embedding, null, 'gpt2-embedding'), whole(s.embedding, small('embedding'))],
          ['position table', whole(g.positions, 'gpt2_small/position_table gpt2_small/seed/2'), '0, rotations'],
          ['longest text, tokens', whole(GPT2_SMALL.maxTokens, 'gpt2_small/n_max'), whole(SMOLLM2_135M.maxTokens)],
          ['all together', whole(g.total, null, 'gpt2-total'), whole(s.total, small('total'))],
          [
            'keys and values kept a token',
            whole(cacheFloats(GPT2_SMALL), null, 'gpt2-cache'),
            whole(cacheFloats(SMOLLM2_135M), small('kv_cache_floats_per_token')),
          ],
        ],
      }),
    );
    sentence.textContent = `A layer’s feed-forward part holds ${fixed(g.mlp / g.attention, 0)} times as many numbers as its attention in ${GPT2_SMALL.name}, ${fixed(s.mlp / s.attention, 0)} times in ${SMOLLM2_135M.name}. At n = ${count(n)} one layer of ${GPT2_SMALL.name} computes ${count(pairs(n).full * GPT2_SMALL.heads)} scores.`;
  }
  return update;
}
