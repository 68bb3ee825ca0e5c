// The public API: loadModel, Model, Pass, LookbackError; typed and described in index.d.ts.
// Owns: what callers see. May touch: model, storage, #port. Start reading at: createLoader in model.js.

import * as kind from '#port';
import { createLoader } from './model.js';

export { LookbackError } from './errors.js';
export { Model, Pass } from './model.js';
export { deleteStoredWeights, storedWeights } from './storage.js';
export const { loadModel, inspectFile } = createLoader(kind);
