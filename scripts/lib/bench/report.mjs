// Rounds into one report: medians, in the shape that the contract names, and the table that README files carry.
import { ATTENTION } from './configurations.mjs';
import { logitError } from './logit_error.mjs';

/** @param {number[]} values @returns {number} */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const rate = (tokens, ms) => (tokens / ms) * 1000;

/**
 * @param {import('./configurations.mjs').Configuration} configuration
 * @param {any[]} rounds what the rounds measured
 */
export function summarise(configuration, rounds) {
  const of = (read) => {
    const values = rounds.map(read);
    return values.includes(null) ? null : median(values);
  };
  const [{ variant, version, prefill, decode, curve = [], logits }] = rounds;
  const { error, of: errorOf } = logitError(logits);
  const attentionMs = of((round) => round.attentionMs ?? null);
  const decodeRates = rounds.map((round) => rate(round.decode.tokens, round.decode.ms));
  return {
    runtime: configuration.runtime,
    variant,
    precision: configuration.precision,
    threads: configuration.threads,
    isolated: configuration.isolated,
    version,
    rounds: rounds.length,
    load_ms: of((round) => round.loadMs),
    ready_from_cache_ms: of((round) => round.readyFromCacheMs),
    prefill: prefill.map(({ tokens }, i) => ({ tokens, tok_s: of((round) => rate(tokens, round.prefill[i].ms)) })),
    decode: {
      after: decode.after,
      tokens: decode.tokens,
      tok_s: median(decodeRates),
      least: Math.min(...decodeRates),
      most: Math.max(...decodeRates),
    },
    attention: attentionMs === null ? null : { tokens: ATTENTION, ms: attentionMs },
    curve: curve.map(({ tokens, decoded }, i) => ({
      tokens,
      prefill_tok_s: of((round) => rate(tokens, round.curve[i].prefillMs)),
      decode_tok_s: of((round) => rate(decoded, round.curve[i].decodeMs)),
    })),
    memory_bytes: of((round) => round.memoryBytes),
    code_bytes_gz: of((round) => round.codeBytes),
    logit_error: error,
    logit_error_of: errorOf,
  };
}

const line = (cells) => `| ${cells.join(' | ')} |`;
const rule = (head) => line(head.map((_, i) => (i ? '--:' : '---')));
const digits = (x, n) => (x === null || x === undefined ? '–' : x.toFixed(n));
const megabytes = (bytes) => (bytes === null ? '–' : Math.round(bytes / 1e6).toString());

function nameOfRun(run) {
  const name = [run.runtime, run.variant, run.precision]
    .filter((part, i, all) => part && part !== all[i - 1])
    .join(' ');
  return run.isolated === false ? `${name}, not isolated` : name;
}

/** How speed falls with length: prefill, and decode after it. Lines of Markdown, none without a curve. */
function curveTable(runs) {
  const measured = runs.filter(({ curve }) => curve.length);
  if (!measured.length) return [];
  const lengths = measured[0].curve.map(({ tokens }) => tokens);
  const head = [
    'tokens a second',
    'threads',
    ...lengths.map((n) => `prefill ${n}`),
    ...lengths.map((n) => `decode after ${n}`),
  ];
  const rows = measured.map((run) => [
    nameOfRun(run),
    run.threads,
    ...run.curve.map((row) => digits(row.prefill_tok_s, 0)),
    ...run.curve.map((row) => digits(row.decode_tok_s, 1)),
  ]);
  return ['', line(head), rule(head), ...rows.map(line)];
}

/** @param {{machine: any, runs: any[]}} report @returns {string} Markdown */
export function table({ machine, runs }) {
  const head = [
    'runtime',
    'threads',
    'load s',
    'from cache s',
    '14',
    '128',
    '512',
    'decode',
    'attention 64, ms',
    'MB',
    'code kB gz',
    'logit error',
  ];
  const rows = runs.map((run) => {
    return [
      nameOfRun(run),
      run.threads,
      digits(run.load_ms / 1000, 2),
      run.ready_from_cache_ms === null ? '–' : digits(run.ready_from_cache_ms / 1000, 2),
      ...run.prefill.map((row) => digits(row.tok_s, 0)),
      digits(run.decode.tok_s, 1),
      run.attention ? digits(run.attention.ms, 0) : '–',
      megabytes(run.memory_bytes),
      run.code_bytes_gz === null ? '–' : Math.round(run.code_bytes_gz / 1000),
      Number(run.logit_error.toPrecision(2)),
    ];
  });
  return [
    `Medians of ${runs[0].rounds} rounds on ${machine.cpu}, ${machine.cores} cores, ${machine.browser}, ${machine.date.slice(0, 10)}; load average ${machine.load_average
      .map((load) => load.toFixed(1))
      .join(
        ' → ',
      )}. Columns 14, 128, 512: prompt tokens a second; decode: ${runs[0].decode.tokens} greedy tokens after ${runs[0].decode.after}, tokens a second;`,
    `MB: WebAssembly memory (llama.cpp: resident size); logit error: largest, against float64 (wllama: of its top log-probabilities).`,
    '',
    line(head),
    rule(head),
    ...rows.map(line),
    ...curveTable(runs),
  ].join('\n');
}
