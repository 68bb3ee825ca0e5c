// Where tests find their data. A missing file fails the test that asks for it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const weightsPath = fileURLToPath(new URL('../../../models/SmolLM2-135M-Instruct.Q4_1.gguf', import.meta.url));
export const referencePath = (/** @type {string} */ name) =>
  fileURLToPath(new URL(`../../data/reference/${name}`, import.meta.url));
export const readReferenceText = (/** @type {string} */ name) => readFileSync(referencePath(name), 'utf8');
export const readReference = (/** @type {string} */ name) => JSON.parse(readReferenceText(name));
