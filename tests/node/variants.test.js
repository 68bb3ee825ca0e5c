// Which build runs and with how many threads: a pure choice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseVariant } from '../../web/engine/variants.js';

const all = { simd128: true, relaxed: true, sharedMemory: true, isolated: true, cores: 8 };
const choose = (features, wishes) => chooseVariant({ ...all, ...features }, wishes);

test('the fastest build that runs here, threaded where memory can be shared', () => {
  assert.equal(choose({}).name, 'relaxed-mt');
  assert.equal(choose({ relaxed: false }).name, 'simd128-mt');
  assert.equal(choose({ isolated: false }).name, 'relaxed');
  assert.equal(choose({ sharedMemory: false }).name, 'relaxed');
  assert.equal(choose({ cores: 2 }).name, 'relaxed');
  assert.equal(choose({}, { variant: 'simd128', threads: 1 }).name, 'simd128');
});

test('threads: half the cores from 1 to 4, one without isolation, and always with the reason', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 7, 8, 64].map((cores) => choose({ cores }).threads),
    [1, 1, 1, 2, 3, 4, 4],
  );
  assert.match(choose({}).threadsReason, /half of 8 cores/);
  const lone = choose({ isolated: false }, { threads: 4 });
  assert.equal(lone.threads, 1);
  assert.match(lone.threadsReason, /not cross-origin isolated.*COOP and COEP/);
  assert.match(choose({ sharedMemory: false }).threadsReason, /shares no WebAssembly memory/);
  assert.deepEqual(choose({}, { threads: 3 }), {
    name: 'relaxed-mt',
    variant: 'relaxed',
    threads: 3,
    threadsReason: '3 threads were asked for',
  });
});

test('what cannot be had is refused in words', () => {
  assert.throws(
    () => choose({ simd128: false }),
    (error) => error.code === 'unsupported_browser' && /SIMD/.test(error.message),
  );
  assert.throws(
    () => choose({ relaxed: false }, { variant: 'relaxed' }),
    (error) => error.code === 'unsupported_browser' && /relaxed/.test(error.message),
  );
  assert.throws(() => choose({}, { variant: 'avx' }), { code: 'bad_argument' });
  for (const threads of [0, -1, 1.5, 65, '2']) assert.throws(() => choose({}, { threads }), { code: 'bad_argument' });
});
