// What is measured, the same for every runtime. An adapter gives
//   create(visit)         → the runtime, ready to run; the time from import to here is the load
//   run(prompt, n)        → {prefillMs, decodeMs, ids}: an empty context, the prompt with the logits of its last position, then n greedy tokens
//   attention(prompt)     → ms until every share of every head is in JavaScript's hands (where the runtime can)
//   logits(prompt)        → the last position's logits, or what comes nearest: {ids, logits} or {ids, logProbabilities}
//   describe()            → {variant, threads, version} as the runtime itself reports them
//   dispose()
// Never in the numbers: the first runs after a load, in which a browser still compiles.

/** @param {any} visit {adapter, plan: {prefill, decode, curve, attention} | null, …} */
export async function measure(visit) {
  const started = performance.now();
  const { create } = await import(visit.adapter);
  const runtime = await create(visit);
  const loadMs = performance.now() - started;
  // A profile drives the runtime from outside.
  if (visit.hold) globalThis.heldRuntime = runtime;
  if (!visit.plan) return { loadMs, ...(await runtime.describe()) };

  const { prompts, plan } = visit;
  const result = { loadMs, ...(await runtime.describe()) };
  if (plan.attention) {
    await runtime.attention(prompts.attention);
    result.attentionMs = await runtime.attention(prompts.attention);
  }
  if (plan.prefill) {
    for (const length of [14, 128, 128]) await runtime.run(prompts[length], 4);
    result.prefill = [];
    for (const tokens of plan.prefill) {
      const { prefillMs } = await runtime.run(prompts[tokens], 0);
      result.prefill.push({ tokens, ms: prefillMs });
    }
    const { after, tokens } = plan.decode;
    const { decodeMs, ids } = await runtime.run(prompts[after], tokens);
    if (ids && ids.length < tokens) throw new Error(`stopped after ${ids.length} of ${tokens} tokens`);
    result.decode = { after, tokens, ms: decodeMs };
    result.logits = await runtime.logits(prompts.words);
  }
  if (plan.curve) {
    for (const length of [128, 128]) await runtime.run(prompts[length], plan.curveTokens);
    result.curve = [];
    for (const length of plan.curve) {
      const { prefillMs, decodeMs } = await runtime.run(prompts[length], plan.curveTokens);
      result.curve.push({ tokens: length, prefillMs, decodeMs, decoded: plan.curveTokens });
    }
  }
  return result;
}
