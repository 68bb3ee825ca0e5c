// What a reader downloads before the weights.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { pageCodeBytes } from './support/page_code.mjs';

test('page code is under 400 kB gzipped: both pages, styles, scripts, and the one engine that a browser loads', () => {
  const total = pageCodeBytes();
  assert.ok(total <= 400000, `${total} bytes`);
});
