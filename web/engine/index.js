// The public API: loadModel, Model, Pass, LookbackError; typed and described in index.d.ts.
// Owns: what callers see. May touch: client and model only. Start reading at: loadModel in model.js.

export { LookbackError } from './errors.js';
export { Model, Pass, inspectFile, loadModel } from './model.js';
export { deleteStoredWeights, storedWeights } from './storage.js';
