// What both sides of the worker agree on: verbs, message shapes, error words, version. Imports nothing.
// Owns: the words that cross. May touch: nothing. Start reading at: VERBS.

/** Both sides compare this at start; raise it when a message changes shape. */
export const PROTOCOL_VERSION = 1;

/**
 * Messages. Page to worker: {id, verb, args}. Back: {id, ok: true, value} or {id, ok: false, error: {code, message, offset?}}; before that any
 * number of events {id, event, value} that belong to the request `id`. `fatal` alone carries no id: the worker is dead.
 */
export const VERBS = Object.freeze({
  // {version} → {version}
  hello: 'hello',
  // {id}: the request to stop; it answers with `cancelled`. → null
  cancel: 'cancel',
  // {source, options} → info; events: progress
  load: 'load',
  // {source} → what the file says about itself
  inspect: 'inspect',
  tokenize: 'tokenize',
  detokenize: 'detokenize',
  chat: 'chat',
  // {text | ids, keep, off} → {pass, tokens, length}; `pass` is a handle
  forward: 'forward',
  disposePass: 'disposePass',
  // {text | ids, …} → {generation}; a handle
  openGeneration: 'openGeneration',
  // {generation} → {id, text, pass, length} or {finish}
  nextToken: 'nextToken',
  closeGeneration: 'closeGeneration',
  logits: 'logits',
  top: 'top',
  row: 'row',
  look: 'look',
  lookedAtBy: 'lookedAtBy',
  pattern: 'pattern',
  average: 'average',
  products: 'products',
  written: 'written',
  heads: 'heads',
  lens: 'lens',
  attribution: 'attribution',
  // {pass, tokenId, position} → {done, total}; events: effects (rows as they finish)
  effects: 'effects',
  // {pass} → Token[]: of a pass made from ids or by generation
  passTokens: 'passTokens',
  dispose: 'dispose',
});

export const EVENTS = Object.freeze({ progress: 'progress', effects: 'effects', fatal: 'fatal' });

/** The engine's own words: the list of include/lookback/result.h, in its order. */
export const ENGINE_ERRORS = Object.freeze([
  'truncated',
  'bad_magic',
  'unsupported_version',
  'unsupported_dtype',
  'unsupported_architecture',
  'bad_header',
  'missing_metadata',
  'bad_config',
  'missing_tensor',
  'duplicate_tensor',
  'shape_mismatch',
  'bad_offset',
  'non_finite',
  'out_of_memory',
  'context_full',
  'bad_token',
  'empty_prompt',
  'bad_argument',
  'wrong_state',
]);

/** All words a LookbackError can carry. */
export const ERRORS = Object.freeze([
  ...ENGINE_ERRORS,
  'cancelled', // the caller's signal; the error's name is AbortError
  'disposed', // the model or pass was disposed, or lost with its worker
  'fatal', // the engine trapped or its worker died
  'internal', // a mistake of this library
  'unknown_verb', // a message outside VERBS
  'protocol_mismatch', // page and worker come from different versions
  'not_found', // no such file, or the server answers 404 or 410
  'http_error', // another refusing status
  'network_error', // no answer, or cut or stalled after all retries
  'wrong_content', // a web page, git-lfs pointer or JSON error in the place of a model
  'hash_mismatch', // the bytes are not the expected ones
  'size_mismatch', // more or fewer bytes than promised
  'bad_manifest', // a shard manifest that cannot be read
  'missing_config', // safetensors or ONNX without config.json or tokenizer.json
  'missing_file', // external data or a shard that the source does not hold
  'bad_tokenizer', // tokenizer data that contradicts itself
  'unsupported_tokenizer', // a tokenizer of a kind that is not read here
  'bad_template', // no chat template, or one that does not render
  'unsupported_browser', // WebAssembly SIMD is missing
]);
