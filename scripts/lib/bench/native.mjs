// One round of native llama.cpp: the same prompts and plan, in a process of its own.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { DECODE, PREFILL } from './configurations.mjs';

/** @param {{threads: number}} configuration @param {{python: string, weights: string, prompts: object}} where */
export function nativeRound({ threads }, { python, weights, prompts }) {
  const input = JSON.stringify({
    prompts,
    plan: { prefill: PREFILL, decode: DECODE },
  });
  const script = fileURLToPath(new URL('./native_llama.py', import.meta.url));
  const { status, stdout, stderr } = spawnSync(python, [script, weights, String(threads)], {
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`llama.cpp: ${stderr.trim().split('\n').at(-1)}`);
  return { ...JSON.parse(stdout), readyFromCacheMs: null, attentionMs: null, codeBytes: null };
}
