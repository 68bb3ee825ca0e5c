// The public API of Lookback: load a SmolLM2 model, run passes over text, read any number of them.
// Layers, heads and positions count from 0; scores are float32; probabilities are over the whole vocabulary.

/** One file of a model: an address (absolute, or relative to the page), a Blob or File, or the bytes; in Node also a path or a `file:` URL. */
export type FileSource = string | URL | Blob | ArrayBuffer | Uint8Array;

/**
 * Where the weights come from: a `.gguf`, `.safetensors` (or its `.safetensors.index.json`), `.onnx`, a manifest of shards, in Node also a
 * checkpoint folder. `.safetensors` and `.onnx` take config.json and tokenizer.json from their own folder, `.onnx` also from the folder
 * above; the object form names them. External data of an ONNX file lies beside it, or is given in `external` by file name.
 */
export type ModelSource =
  | FileSource
  | { weights: FileSource; config?: FileSource; tokenizer?: FileSource; external?: Record<string, FileSource> };

export type LoadPhase = 'download' | 'verify' | 'read-from-cache' | 'prepare';

export interface LoadProgress {
  /** `download` counts bytes from the network, `read-from-cache` stored or local bytes, `verify` a stored copy's check, `prepare` the engine's own work. */
  phase: LoadPhase;
  /** Bytes so far; never falls within a phase. */
  loaded: number;
  /** Bytes in all, or null where the server does not say. Never below `loaded`; equal to it in the last call of the phase. */
  total: number | null;
}

export interface LoadOptions {
  /** Threads of the engine; default: half the cores, from 1 to 4. One where memory cannot be shared; `info.threadsReason` says why. */
  threads?: number;
  /** `exact` (default): f32 arithmetic. `fast`: activations rounded to 16 bits per block of 32. */
  precision?: 'exact' | 'fast';
  /** Which build of the engine; default `auto`: the fastest one this browser runs. */
  variant?: 'auto' | 'simd128' | 'relaxed';
  /** Keep downloaded weights for the next visit (OPFS, else IndexedDB); default true. Nothing is stored in Node. */
  cache?: boolean;
  /** Expected SHA-256 of the weights file, in hex. */
  sha256?: string;
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
  /** Run in a worker; default true in browsers, false in Node. */
  worker?: boolean;
  /** Most positions of a pass; default: the file's own context length. */
  contextLength?: number;
}

export interface ModelInfo {
  architecture: string;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  hidden: number;
  feedForward: number;
  vocab: number;
  contextLength: number;
  parameters: number;
  weights: WeightsInfo;
  precision: 'exact' | 'fast';
  /** Threads that really run. */
  threads: number;
  /** Why that many: one sentence. */
  threadsReason: string;
  /** The build that runs, as the engine itself names it. */
  variant: string;
  /** Bytes of engine memory after loading. */
  memoryBytes: number;
}

export interface WeightsInfo {
  format: 'gguf' | 'safetensors' | 'onnx';
  dtypes: string[];
  /** SHA-256 of the bytes as read, in hex; of several files: of the weights file named in the source. Null where not every byte was read. */
  sha256: string | null;
  /** Bytes of all weights files. */
  bytes: number;
  /** Where they came from: an address, a path, or a file's name; null for bytes handed over. */
  source: string | null;
  /** What the hash was compared with: `option`, `manifest` or `hub` (the hub's own record), or `recorded` (computed here, compared with nothing). */
  verified: 'option' | 'manifest' | 'hub' | 'recorded';
  /** The commit that the hub named for this file, where it named one. */
  commit: string | null;
  /** Where downloaded weights are kept: `opfs`, `indexeddb`, `none` (nothing was stored), with the reason in `storedReason`. */
  stored: 'opfs' | 'indexeddb' | 'none';
  storedReason: string | null;
}

export interface Token {
  id: number;
  /** The text it stands for. Tokens that hold only part of a character share that character's text, start and end, and carry `piece`. */
  text: string;
  /** The token's own bytes. */
  bytes: Uint8Array;
  /** First UTF-16 offset in the tokenized text. */
  start: number;
  /** UTF-16 offset after the last. */
  end: number;
  /** One of the model's special tokens, matched whole. */
  special: boolean;
  /** Part k (from 0) of the n tokens that make this text up together. */
  piece?: [number, number];
}

/** A head switched off (zeroed before o_proj at every position), or one link of it (the score of `query` on `key` set to -Infinity). */
export type Off = { layer: number; head: number } | { layer: number; head: number; query: number; key: number };

export interface ForwardOptions {
  /** `rows` (default) keeps what reading attention needs; `none` keeps only what logits and generation need. */
  keep?: 'rows' | 'none';
  off?: Off[];
  signal?: AbortSignal;
}

export interface GenerateOptions {
  /** Default 256. */
  maxTokens?: number;
  /** 0 (default): always the most probable token. */
  temperature?: number;
  /** Only the k most probable; default 0, all. */
  topK?: number;
  /** Only the most probable that together reach p; default 1, all. */
  topP?: number;
  /** Seed of the draw: the same seed, options and text give the same tokens. Default 0. */
  seed?: number;
  signal?: AbortSignal;
  off?: Off[];
}

export interface GeneratedToken {
  id: number;
  /** Text that became complete with this token; half characters wait. Chunks joined are the text of all ids without special tokens. */
  text: string;
  /** The pass that ends with this token: its row is `pass.row(layer, head, pass.length - 1)`. Dispose it when it has been read. */
  pass: Pass;
}

/** `stop`: an end token came (it is the last id). `length`: maxTokens or the context is used up. */
export type FinishReason = 'stop' | 'length';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | (string & {});
  content: string;
}

export interface TopToken {
  id: number;
  text: string;
  logit: number;
  probability: number;
}

/** Statistics of one head over a pass; null where no position qualifies. Definitions: tests/data/reference/README.md. */
export interface HeadStats {
  layer: number;
  head: number;
  previous: number | null;
  first: number | null;
  self: number | null;
  induction: number | null;
  duplicate: number | null;
  entropy: number | null;
}

export interface Attribution {
  /** The embedding's part of the logit. */
  embedding: number;
  /** [layers, heads], flat. */
  heads: Float32Array;
  /** [layers] */
  mlps: Float32Array;
  /** The sum of all parts. */
  logit: number;
}

export interface HeadEffect {
  layer: number;
  head: number;
  /** The token's probability with this head off. */
  probability: number;
  /** KL divergence from the clean distribution to this one, in nats. */
  kl: number;
}

/** One run over a text. Independent of other passes until disposed. */
export declare class Pass {
  /** The tokens it ran over. Of a pass made from ids, `start` and `end` are offsets in their joined text. */
  readonly tokens: Token[];
  readonly length: number;
  /** [vocab], at `position` (default: the last). */
  logits(position?: number): Promise<Float32Array>;
  /** The k most probable next tokens at `position` (default: the last). */
  top(k: number, position?: number): Promise<TopToken[]>;
  /** Three arrays [query + 1]: q·k, q·k / sqrt(headDim), and the share after softmax. */
  row(
    layer: number,
    head: number,
    query: number,
  ): Promise<{ qk: Float32Array; scaled: Float32Array; share: Float32Array }>;
  /** [layers, heads, query + 1] shares: everything that `query` looks at. */
  look(query: number): Promise<Float32Array>;
  /** [layers, heads, length] the share that each position gives to `key`; 0 before it. */
  lookedAtBy(key: number): Promise<Float32Array>;
  /** [length, length] shares of one head, query by row; 0 above the diagonal. */
  pattern(layer: number, head: number): Promise<Float32Array>;
  /** [length, length] mean of all heads' shares. */
  average(): Promise<Float32Array>;
  /** [headDim] q[i]·k[i] after rope, in the order of the Hugging Face layout; sums to qk. */
  products(layer: number, head: number, query: number, key: number): Promise<Float32Array>;
  /** [query + 1] share × ‖o_proj · value‖: how much is written for each key. */
  written(layer: number, head: number, query: number): Promise<Float32Array>;
  /** One row per head, layer by layer. */
  heads(): Promise<HeadStats[]>;
  /** What the residual stream would say if it ended here: layer 0 is after the embedding, then after each layer. k defaults to 5. */
  lens(position?: number, k?: number): Promise<{ layer: number; top: TopToken[] }[]>;
  /** The token's logit as a sum of parts. `centred` subtracts each part's mean over the vocabulary. */
  attribution(tokenId: number, position?: number, options?: { centred?: boolean }): Promise<Attribution>;
  /** Each head off in turn, as results come in; leaving the loop stops the work. */
  effects(
    tokenId: number,
    position?: number,
    options?: { signal?: AbortSignal; onProgress?: (progress: { done: number; total: number }) => void },
  ): AsyncGenerator<HeadEffect, void, void>;
  /** Frees it. Twice is fine; any call after it is rejected with `disposed`. */
  dispose(): void;
}

/** A loaded model. */
export declare class Model {
  readonly info: ModelInfo;
  /** `special` (default true): the model's special tokens are matched first; false: they are plain text. */
  tokenize(text: string, options?: { special?: boolean }): Promise<Token[]>;
  detokenize(ids: ArrayLike<number>, options?: { skipSpecial?: boolean }): Promise<string>;
  forward(textOrIds: string | ArrayLike<number>, options?: ForwardOptions): Promise<Pass>;
  /** Tokens one by one; the next one is computed when it is asked for. The generator's return value says why it ended. */
  generate(
    textOrIds: string | ArrayLike<number>,
    options?: GenerateOptions,
  ): AsyncGenerator<GeneratedToken, FinishReason, void>;
  /** The model's own chat template over the messages, opened for the assistant's answer, as ids. */
  chat(messages: ChatMessage[]): Promise<number[]>;
  /** Frees the model and all its passes. Twice is fine; any call after it is rejected with `disposed`. */
  dispose(): Promise<void>;
}

export declare function loadModel(source: ModelSource, options?: LoadOptions): Promise<Model>;

/** What a weights file says about itself, without loading it. `sha256` is null unless every byte was read. */
export interface Inspection {
  format: 'gguf' | 'safetensors' | 'onnx';
  architecture: string | null;
  config: Record<string, unknown>;
  tensors: { name: string; dtype: string; shape: number[] }[];
  tokenizer: { model: string; pre: string | null; n_tokens: number; n_merges: number } | null;
  sha256: string | null;
}

export declare function inspectFile(
  source: ModelSource,
  options?: { signal?: AbortSignal; worker?: boolean },
): Promise<Inspection>;

export interface StoredWeights {
  /** The address they came from. */
  address: string;
  bytes: number;
  sha256: string | null;
  complete: boolean;
}

/** The weights this origin keeps, and what the browser says about its room. */
export declare function storedWeights(): Promise<{
  files: StoredWeights[];
  usage: number | null;
  quota: number | null;
}>;
/** Deletes stored weights: of one address, or all. Resolves to the number of files deleted. */
export declare function deleteStoredWeights(address?: string): Promise<number>;

/** Every rejection: `code` is a stable word, `message` a sentence saying what, where and what was expected. */
export declare class LookbackError extends Error {
  constructor(code: ErrorCode, message: string, details?: { offset?: number });
  readonly code: ErrorCode;
  /** Byte position in the file, where there is one. */
  readonly offset?: number;
}

export type ErrorCode =
  // From the engine
  | 'truncated'
  | 'bad_magic'
  | 'unsupported_version'
  | 'unsupported_dtype'
  | 'unsupported_architecture'
  | 'bad_header'
  | 'missing_metadata'
  | 'bad_config'
  | 'missing_tensor'
  | 'duplicate_tensor'
  | 'shape_mismatch'
  | 'bad_offset'
  | 'non_finite'
  | 'out_of_memory'
  | 'context_full'
  | 'bad_token'
  | 'empty_prompt'
  | 'bad_argument'
  | 'wrong_state'
  // From the page's side
  | 'cancelled'
  | 'disposed'
  | 'fatal'
  | 'internal'
  | 'unknown_verb'
  | 'protocol_mismatch'
  | 'not_found'
  | 'http_error'
  | 'network_error'
  | 'wrong_content'
  | 'hash_mismatch'
  | 'size_mismatch'
  | 'bad_manifest'
  | 'missing_config'
  | 'missing_file'
  | 'bad_tokenizer'
  | 'unsupported_tokenizer'
  | 'bad_template'
  | 'unsupported_browser';
