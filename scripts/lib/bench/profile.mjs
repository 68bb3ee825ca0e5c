// Where the time of a pass goes: the engine's worker under Chromium's sampling profiler, self time summed by function. The shipped module has no function
// names, so the same sources are linked once more with them.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import puppeteer from 'puppeteer-core';

import { serveFolder } from '../static_server.mjs';
import { FLAGS } from './browser.mjs';
import { root } from './prepare.mjs';

const VARIANT = 'relaxed';
const SAMPLE_US = 200;
const SHOWN = 12;

/** A copy of the package whose module carries names; answers its folder. */
export function packageWithNames() {
  const build = join(root, 'build', `wasm-${VARIANT}-profile`);
  const inside = (...command) =>
    execFileSync(join(root, 'scripts/lib/in-toolchain'), command, { cwd: root, stdio: ['ignore', 2, 2] });
  inside('cmake', '--preset', `wasm-${VARIANT}`, '-B', build, '-DCMAKE_EXE_LINKER_FLAGS=--profiling-funcs');
  inside('ninja', '-C', build, '--quiet', 'lookback_glue');
  // Inside the checkout, so that the package's own imports resolve.
  const folder = join(root, 'build', 'profile-package');
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(root, 'dist', 'package'), folder, { recursive: true });
  for (const file of ['lookback.mjs', 'lookback.wasm'])
    cpSync(join(build, 'wasm', file), join(folder, 'wasm', VARIANT, file));
  return folder;
}

/**
 * @param {{folder: string, chromium: string, prompts: any}} where
 * @returns {Promise<{what: string, precision: string, ms: number, functions: {name: string, share: number}[]}[]>}
 */
export async function profile({ folder, chromium, prompts }) {
  const server = await serveFolder({ folder, policy: null });
  const browser = await puppeteer.launch({
    executablePath: chromium,
    headless: true,
    args: FLAGS,
    protocolTimeout: 300000,
  });
  const profiles = [];
  try {
    for (const precision of ['exact', 'fast']) {
      const page = await browser.newPage();
      const visit = {
        adapter: '/bundle/lookback.js',
        threads: 1,
        variant: VARIANT,
        precision,
        model: '/models/weights.gguf',
        hold: true,
        prompts,
        plan: null,
      };
      await page.evaluateOnNewDocument((data) => (window.visit = data), visit);
      await page.goto(`${server.url}page/index.html`);
      await page.waitForFunction(() => window.visitResult !== undefined, { timeout: 120000, polling: 100 });
      const { error } = await page.evaluate(() => window.visitResult);
      if (error) throw new Error(error);
      const run = (name, n) =>
        page.evaluate((prompt, count) => window.heldRuntime.run(window.visit.prompts[prompt], count), name, n);
      for (let i = 0; i < 3; i++) await run('128', 8);
      const { client } = page.workers()[0];
      await client.send('Profiler.enable');
      await client.send('Profiler.setSamplingInterval', { interval: SAMPLE_US });
      for (const [what, prompt, n] of [
        ['prefill of 512 tokens', '512', 0],
        ['prefill of 14 tokens and 128 decoded', '14', 128],
      ]) {
        await client.send('Profiler.start');
        const { prefillMs, decodeMs } = await run(prompt, n);
        const { profile: samples } = await client.send('Profiler.stop');
        profiles.push({ what, precision, ms: prefillMs + decodeMs, functions: selfTimes(samples) });
      }
      await page.close();
    }
  } finally {
    await browser.close();
    await server.close();
  }
  return profiles;
}

/**
 * readable: Class::method of a C++ name, without namespaces, template arguments and parameters; a task that a pool runs carries the method that made it
 * @param {string} name as V8 reports it
 */
export function readable(name) {
  const task = /.*::FunctionRef<([^(]*)\(.*?::'lambda(\d*)'/.exec(name);
  const owner = task ? task[1] : name.replace(/(?<=.)\(.*/s, '');
  const suffix = task ? `, task ${task[2] === '' ? 1 : Number(task[2]) + 2}` : '';
  return (
    owner
      .replace(/<[^<>]*(?:<[^<>]*>[^<>]*)*>/g, '')
      .split('::')
      .slice(-2)
      .join('::') + suffix
  );
}

/** Self time by function, as shares of the time that was not idle. */
function selfTimes({ nodes, samples, timeDeltas }) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, readable(callFrame.functionName || '(anonymous)')]));
  const times = new Map();
  samples.forEach((id, i) => {
    const name = names.get(id);
    if (name !== '(idle)' && name !== '(program)') times.set(name, (times.get(name) ?? 0) + timeDeltas[i]);
  });
  const total = [...times.values()].reduce((a, b) => a + b, 0);
  return [...times].map(([name, time]) => ({ name, share: time / total })).sort((a, b) => b.share - a.share);
}

export function printProfiles(profiles) {
  const lines = [];
  for (const { what, precision, ms, functions } of profiles) {
    lines.push(`${what}, ${VARIANT} ${precision}, 1 thread: ${ms.toFixed(0)} ms`);
    for (const { name, share } of functions.slice(0, SHOWN))
      lines.push(`  ${(100 * share).toFixed(1).padStart(5)} %  ${name}`);
    lines.push('');
  }
  return lines.join('\n');
}
