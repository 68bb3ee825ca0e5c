// The benchmark: every configuration once a round, round after round, so that a busy minute of the machine falls on all of them; then medians.
import { existsSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import puppeteer from 'puppeteer-core';

import { browserRound, FLAGS } from './browser.mjs';
import { ATTENTION, configurations, CURVE, DECODE, nameOf, PEERS, PREFILL } from './configurations.mjs';
import { nativeRound } from './native.mjs';
import {
  bundlePackage,
  cache,
  makePrompts,
  npmPeers,
  onnxModels,
  pythonWithLlamaCpp,
  root,
  servedFolder,
} from './prepare.mjs';
import { packageWithNames, printProfiles, profile } from './profile.mjs';
import { summarise, table } from './report.mjs';

const USAGE = `usage: scripts/bench [--json] [--against ${PEERS.join(',')}] [--threads 1,2] [--rounds N] [--only TEXT] [--profile]
  --json      prints the report as JSON, else as a table
  --against   peers to run beside: ${PEERS.join(', ')}; they are installed and their models made on first use
  --threads   thread counts; default 1 and half the cores
  --rounds    how often each is measured; default 3, reported are medians
  --only      only runs whose name holds TEXT, as in “relaxed fast”
  --profile   instead of measuring: where the time of a pass goes, by function
`;

function options() {
  let parsed;
  try {
    parsed = parseArgs({
      options: {
        json: { type: 'boolean', default: false },
        against: { type: 'string', default: '' },
        threads: { type: 'string', default: '' },
        rounds: { type: 'string', default: '3' },
        only: { type: 'string', default: '' },
        profile: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error.message);
  }
  const against = parsed.against.split(',').filter(Boolean);
  const stranger = against.find((peer) => !PEERS.includes(peer));
  if (stranger) throw new UsageError(`no peer “${stranger}”`);
  const half = Math.max(1, os.cpus().length >> 1);
  const threads = (parsed.threads || [...new Set([1, half])].join()).split(',').map(Number);
  const rounds = Number(parsed.rounds);
  if (![...threads, rounds].every((n) => Number.isInteger(n) && n >= 1))
    throw new UsageError('--threads and --rounds take whole numbers from 1');
  return { ...parsed, against, threads, rounds };
}

class UsageError extends Error {}

function findChromium() {
  const found = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'].find(
    (path) => path && existsSync(path),
  );
  if (!found) throw new Error('no Chromium found; set CHROMIUM to one');
  return found;
}

async function describeMachine(chromium) {
  const browser = await puppeteer.launch({ executablePath: chromium, headless: true, args: FLAGS });
  const version = await browser.version();
  await browser.close();
  return {
    cpu: os.cpus()[0].model.trim(),
    cores: os.cpus().length,
    memory_bytes: os.totalmem(),
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    browser: version,
    date: new Date().toISOString(),
    load_average: [os.loadavg()[0]],
  };
}

function reportOf(machine, runs) {
  const load = [machine.load_average[0], os.loadavg()[0]];
  return {
    machine: { ...machine, load_average: load },
    runs: runs.map(({ configuration, rounds }) => summarise(configuration, rounds)),
  };
}

async function main() {
  const chosen = options();
  const weights = process.env.LOOKBACK_WEIGHTS;
  const chromium = findChromium();
  const prompts = await makePrompts([...new Set([...PREFILL, DECODE.after, ATTENTION, ...CURVE])], weights);
  const parts = { page: `${root}scripts/lib/bench/page`, 'models/weights.gguf': weights };
  if (chosen.profile) {
    const folder = servedFolder({ ...parts, bundle: await bundlePackage(packageWithNames()) });
    const profiles = await profile({ folder, chromium, prompts });
    process.stdout.write(chosen.json ? `${JSON.stringify({ profiles }, null, 1)}\n` : printProfiles(profiles));
    return;
  }
  parts.bundle = await bundlePackage();
  if (chosen.against.some((peer) => peer !== 'llama.cpp')) parts.peers = npmPeers();
  if (chosen.against.includes('ort')) parts['models/onnx'] = onnxModels(weights);
  const python = chosen.against.includes('llama.cpp') ? pythonWithLlamaCpp() : null;
  const folder = servedFolder(parts);

  const machine = await describeMachine(chromium);
  const runs = configurations(chosen)
    .filter((each) => nameOf(each).includes(chosen.only))
    .map((configuration) => ({ configuration, rounds: [] }));
  if (!runs.length) throw new UsageError(`no run’s name holds “${chosen.only}”`);
  for (let round = 1; round <= chosen.rounds; round++) {
    for (const { configuration, rounds } of runs) {
      process.stderr.write(`== round ${round} of ${chosen.rounds}: ${nameOf(configuration)}\n`);
      const measured =
        configuration.runtime === 'llama.cpp'
          ? nativeRound(configuration, { python, weights, prompts })
          : await browserRound(configuration, { folder, chromium, prompts });
      if (
        configuration.runtime === 'lookback' &&
        (measured.variant.split('-')[0] !== configuration.variant || measured.threads !== configuration.threads)
      )
        throw new Error(`asked for ${nameOf(configuration)}, got ${measured.variant} with ${measured.threads} threads`);
      rounds.push(measured);
    }
    // Kept after each round, in case the run is cut short.
    writeFileSync(join(cache, 'report.json'), JSON.stringify(reportOf(machine, runs), null, 1));
  }
  const report = reportOf(machine, runs);
  process.stdout.write(chosen.json ? `${JSON.stringify(report, null, 1)}\n` : `${table(report)}\n`);
}

try {
  await main();
} catch (error) {
  if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
  process.stderr.write(`error: bench_failed: ${error.stack}\n`);
  process.exit(1);
}
