// Owns: the view as an address and back. May touch: nothing. Start at encodeLink.
// Every value survives exactly: any text, layer 0, head 0, token 0. What is absent keeps its default.

/**
 * @typedef {{layer: number, head: number, query?: number, key?: number}} Off a head, or one of its links, switched off
 * @typedef {object} LinkView
 * @property {string} [text]
 * @property {number|null} [layer] with head null: all heads averaged
 * @property {number|null} [head]
 * @property {number|null} [token] pinned token
 * @property {Off[]} [off]
 * @property {string} [model] name of a source, or an address
 * @property {string} [shade] what the atlas shows
 * @property {string} [sort]
 * @property {boolean} [aside]
 * @property {boolean} [words]
 * @property {string} [target] id of the token followed
 */

/** @param {Off[]} off @returns {string} "17.4,18.6:13>5" */
export function encodeOff(off) {
  return off.map((o) => `${o.layer}.${o.head}${o.query === undefined ? '' : `:${o.query}>${o.key}`}`).join(',');
}

/** @param {string} text @returns {Off[]} entries that make no sense are left out */
export function decodeOff(text) {
  return text.split(',').flatMap((entry) => {
    const m = /^(\d+)\.(\d+)(?::(\d+)>(\d+))?$/.exec(entry.trim());
    if (!m) return [];
    const off = { layer: Number(m[1]), head: Number(m[2]) };
    return [m[3] === undefined ? off : { ...off, query: Number(m[3]), key: Number(m[4]) }];
  });
}

/** @param {LinkView} view @returns {string} without the # */
export function encodeLink(view) {
  const params = new URLSearchParams();
  if (view.text !== undefined) params.set('text', view.text);
  if (view.head === null) params.set('head', 'all');
  else {
    if (view.layer !== undefined && view.layer !== null) params.set('layer', String(view.layer));
    if (view.head !== undefined) params.set('head', String(view.head));
  }
  if (view.token !== undefined && view.token !== null) params.set('token', String(view.token));
  if (view.off?.length) params.set('off', encodeOff(view.off));
  if (view.model) params.set('model', view.model);
  if (view.shade && view.shade !== 'word') params.set('shade', view.shade);
  if (view.sort && view.sort !== 'position') params.set('sort', view.sort);
  if (view.aside) params.set('aside', '1');
  if (view.words) params.set('words', '1');
  if (view.target) params.set('target', view.target);
  return params.toString();
}

const whole = (text) => (text !== null && /^\d{1,6}$/.test(text) ? Number(text) : undefined);

/** @param {string} hash with or without the # @returns {LinkView} only what the address names */
export function decodeLink(hash) {
  const params = new URLSearchParams(hash.replace(/^#/, ''));
  /** @type {LinkView} */
  const view = {};
  const text = params.get('text');
  if (text !== null) view.text = text;
  if (params.get('head') === 'all') view.head = null;
  else {
    const layer = whole(params.get('layer'));
    const head = whole(params.get('head'));
    if (layer !== undefined) view.layer = layer;
    if (head !== undefined) view.head = head;
  }
  const token = whole(params.get('token'));
  if (token !== undefined) view.token = token;
  const off = params.get('off');
  if (off !== null) view.off = decodeOff(off);
  for (const name of /** @type {const} */ (['model', 'shade', 'sort', 'target'])) {
    const value = params.get(name);
    if (value) view[name] = value;
  }
  for (const name of /** @type {const} */ (['aside', 'words'])) if (params.get(name) === '1') view[name] = true;
  return view;
}
