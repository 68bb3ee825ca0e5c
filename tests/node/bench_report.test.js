// The benchmark's own arithmetic: medians, the report's shape, the error against the reference, the table in a README.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configurations, nameOf } from '../../scripts/lib/bench/configurations.mjs';
import { logitError } from '../../scripts/lib/bench/logit_error.mjs';
import { readNpz } from '../../scripts/lib/bench/npz.mjs';
import { median, summarise, table } from '../../scripts/lib/bench/report.mjs';
import { withTable } from '../../scripts/lib/bench/write_table.mjs';
import { readReference, referencePath } from './support/data.js';

const logits = Array.from(readNpz(referencePath('forward_words.npz'), 'logits_last'));
const round = (ms, more = {}) => ({
  variant: 'relaxed',
  version: null,
  loadMs: ms,
  readyFromCacheMs: ms / 2,
  prefill: [{ tokens: 128, ms }],
  decode: { after: 128, tokens: 64, ms },
  curve: [{ tokens: 32, prefillMs: ms, decodeMs: ms, decoded: 8 }],
  attentionMs: ms,
  memoryBytes: 2e8,
  codeBytes: 3e5,
  logits: { logits },
  ...more,
});
const lookback = configurations({ against: [], threads: [1] })[0];

test('npz: the array that the summary of the same pass describes', () => {
  const top = readReference('forward_words.json').positions.at(-1).top10;
  assert.equal(logits.length, 49152);
  for (const [id, logit] of top) assert.ok(Math.abs(logits[id] - logit) < 1e-5);
  assert.throws(() => readNpz(referencePath('forward_words.npz'), 'nothing'), /has no array nothing/);
});

test('logit error: one moved logit is found; log-probabilities are compared with the softmax of all', () => {
  assert.deepEqual(logitError({ logits }), { error: 0, of: 'all logits' });
  const moved = logits.with(777, logits[777] - 0.25);
  assert.ok(Math.abs(logitError({ logits: moved }).error - 0.25) < 1e-6);
  assert.throws(() => logitError({ logits: logits.slice(1) }), /49151 logits/);
  const top = readReference('forward_words.json').positions.at(-1).top10;
  const ids = top.map(([id]) => id);
  const logProbabilities = top.map(([, , probability]) => Math.log(probability));
  assert.ok(logitError({ ids, logProbabilities }).error < 1e-4);
  assert.ok(
    Math.abs(logitError({ ids, logProbabilities: logProbabilities.with(3, logProbabilities[3] + 1) }).error - 1) < 1e-4,
  );
});

test('report: medians of rounds, rates in tokens a second', () => {
  assert.deepEqual([median([3, 1, 2]), median([4, 1, 3, 2])], [2, 2.5]);
  const run = summarise(lookback, [round(1000), round(4000), round(2000)]);
  assert.deepEqual(
    [run.runtime, run.variant, run.precision, run.threads, run.isolated, run.rounds],
    ['lookback', 'relaxed', 'exact', 1, true, 3],
  );
  assert.deepEqual([run.load_ms, run.ready_from_cache_ms, run.memory_bytes, run.code_bytes_gz], [2000, 1000, 2e8, 3e5]);
  assert.deepEqual(run.prefill, [{ tokens: 128, tok_s: 64 }]);
  assert.deepEqual(run.decode, { after: 128, tokens: 64, tok_s: 32, least: 16, most: 64 });
  assert.deepEqual(run.attention, { tokens: 64, ms: 2000 });
  assert.deepEqual(run.curve, [{ tokens: 32, prefill_tok_s: 16, decode_tok_s: 4 }]);
  assert.equal(run.logit_error, 0);
  const peer = summarise({ ...lookback, runtime: 'llama.cpp' }, [
    round(1000, { attentionMs: null, codeBytes: null, readyFromCacheMs: null }),
  ]);
  assert.deepEqual([peer.attention, peer.code_bytes_gz, peer.ready_from_cache_ms], [null, null, null]);
});

test('configurations: both builds and precisions for each thread count, each peer asked for, one host without isolation', () => {
  const names = configurations({ against: ['wllama', 'ort', 'llama.cpp'], threads: [1, 2] }).map(nameOf);
  assert.equal(new Set(names).size, names.length);
  assert.equal(names.filter((name) => name.startsWith('lookback')).length, 9);
  assert.equal(names.filter((name) => name.startsWith('ort')).length, 4);
  assert.deepEqual(names.at(-1), 'lookback relaxed exact 1 thread not isolated');
  assert.ok(configurations({ against: [], threads: [1] }).every(({ runtime }) => runtime === 'lookback'));
});

test('table: one row a run, put between the markers and nowhere else', () => {
  const machine = { cpu: 'CPU', cores: 2, browser: 'Chrome/1', date: '2026-01-02T03:04:05Z', load_average: [0.1, 0.2] };
  const report = { machine, runs: [summarise(lookback, [round(1000)])] };
  assert.match(table(report), /^\| lookback relaxed exact \| 1 \| 1\.00 \| 0\.50 \| 128 \| 64\.0 \|/m);
  const readme =
    'before\n<!-- bench: made by scripts/lib/bench/write_table.mjs; do not edit -->\nold\n<!-- /bench -->\nafter\n';
  const written = withTable(readme, report);
  assert.ok(written.startsWith('before\n') && written.endsWith('<!-- /bench -->\nafter\n'));
  assert.ok(!written.includes('old'));
  assert.equal(withTable(written, report), written);
  assert.throws(() => withTable('no markers', report), /needs the lines/);
});
