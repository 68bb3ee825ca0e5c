// Owns: where weights can come from, by name, and what an address in a link may do. May touch: nothing.

/** @typedef {{id: string, name: string, detail: string, address: string|null, source: any}} Source */

/** The site ships its weights in shards, since some static hosts refuse large files; the manifest names them and their hashes. */
const SHIPPED = 'models/manifest.json';
const HUB = 'https://huggingface.co/HuggingFaceTB/SmolLM2-135M/resolve/main/';

/** @param {string} address @param {string} page */
const absolute = (address, page) => new URL(address, page).href;

/** @param {string} page the page's own address @returns {Source[]} */
export function namedSources(page) {
  const shipped = absolute(SHIPPED, page);
  return [
    {
      id: 'instruct',
      name: 'SmolLM2-135M-Instruct, Q4_1',
      detail:
        '98 MB, shipped with this page. Fine-tuned for chat and quantised, so its figures differ from the article’s.',
      address: shipped,
      source: shipped,
    },
    {
      id: 'base',
      name: 'SmolLM2-135M base, as published',
      detail: '269 MB from huggingface.co: the model the article measured, here in its own bfloat16 weights.',
      address: `${HUB}model.safetensors`,
      source: `${HUB}model.safetensors`,
    },
  ];
}

/** @param {string} address @param {string} page @returns {Source} */
export function addressSource(address, page) {
  const href = absolute(address, page);
  return {
    id: address,
    name: decodeURIComponent(new URL(href).pathname.split('/').pop() || href),
    detail: href,
    address: href,
    source: href,
  };
}

/**
 * Files from the reader's own disk: a lone file, or weights with config.json and tokenizer.json beside them.
 * @param {File[]} files @returns {Source|null} null when no weights are among them
 */
export function fileSource(files) {
  const weights =
    files.find((f) => /\.(gguf|safetensors|onnx)$/i.test(f.name)) ?? (files.length === 1 ? files[0] : undefined);
  if (!weights) return null;
  const named = (name) => files.find((f) => f.name === name);
  const config = named('config.json');
  const tokenizer = named('tokenizer.json');
  const beside = files.filter((f) => f !== weights && f !== config && f !== tokenizer);
  const source =
    files.length === 1
      ? weights
      : {
          weights,
          ...(config ? { config } : {}),
          ...(tokenizer ? { tokenizer } : {}),
          ...(beside.length ? { external: Object.fromEntries(beside.map((f) => [f.name, f])) } : {}),
        };
  return {
    id: `file:${weights.name}`,
    name: weights.name,
    detail: 'from this device; it is read here and sent nowhere',
    address: null,
    source,
  };
}

/**
 * What a link asks for. A link may not make the page talk to another host by itself: that needs the reader's word.
 * @param {string|undefined} model @param {string} page
 * @returns {{source: Source, ask: Source|null, lost: string|null}} lost: a file that only its owner can pick again
 */
export function sourceFromLink(model, page) {
  const named = namedSources(page);
  const shipped = named[0];
  if (!model || model === shipped.id) return { source: shipped, ask: null, lost: null };
  if (model.startsWith('file:')) return { source: shipped, ask: null, lost: model.slice(5) };
  const byName = named.find((s) => s.id === model);
  let wanted;
  try {
    wanted = byName ?? addressSource(model, page);
  } catch {
    return { source: shipped, ask: null, lost: model };
  }
  const foreign = new URL(/** @type {string} */ (wanted.address)).origin !== new URL(page).origin;
  return foreign ? { source: shipped, ask: wanted, lost: null } : { source: wanted, ask: null, lost: null };
}
