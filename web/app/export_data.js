// Owns: what is saved of a view, and in which form; every file names weights, hash and settings. May touch: pure helpers, a pass.

import { query, shownHead, shortHead } from './selectors.js';
import { makeNpz } from './npz.js';

/** More than this in one file is no use to anyone: 270 heads × n² floats. */
export const MOST_EVERYTHING = { json: 64, npz: 256 };

/** @param {any} s @param {string} address the link to this view */
export function settings(s, address) {
  const { layer, head } = shownHead(s);
  return {
    program: 'Lookback',
    link: address,
    weights: { name: s.source.name, file: s.run.weights.name, sha256: s.run.weights.sha256 },
    precision: s.run.weights.precision,
    variant: s.info?.variant ?? null,
    threads: s.info?.threads ?? null,
    stored_run: s.run.stored,
    text: s.run.text,
    layer,
    head: head === null ? 'all, averaged' : head,
    token: query(s),
    off: s.run.off,
    counting:
      'layers, heads and tokens count from 0; qk before the division, scaled = qk / sqrt(head_dim), share = softmax over tokens up to the query',
  };
}

const tokens = (s) =>
  s.run.tokens.map(({ id, text, start, end, special, piece }) => ({
    id,
    text,
    start,
    end,
    special,
    ...(piece ? { piece } : {}),
  }));

/** The table as it stands: one line a token. @param {any} s @param {string} address */
export async function rowCsv(s, address, { pass }) {
  const { layer, head } = shownHead(s);
  const at = query(s);
  const row =
    head === null
      ? { share: (await pass.average()).slice(at * s.run.tokens.length, at * s.run.tokens.length + at + 1) }
      : await pass.row(layer, head, at);
  const cell = (v) => (v === undefined ? '' : String(v));
  const quoted = (text) => `"${text.replace(/"/g, '""')}"`;
  const about = Object.entries(settings(s, address)).map(([k, v]) => `# ${k}: ${JSON.stringify(v)}`);
  const lines = s.run.tokens.map((t, k) =>
    [
      k,
      t.id,
      quoted(t.text),
      ...(k > at ? ['', '', ''] : [cell(row.qk?.[k]), cell(row.scaled?.[k]), cell(row.share[k])]),
    ].join(','),
  );
  return [...about, 'position,id,token,qk,scaled,share', ...lines, ''].join('\n');
}

/** Shares of the shown head, or of the average. */
async function shownPattern(s, { pass }) {
  const { layer, head } = shownHead(s);
  return head === null ? pass.average() : pass.pattern(layer, head);
}

/** @param {Float32Array} flat @param {number} n */
const triangle = (flat, n) => Array.from({ length: n }, (_, q) => Array.from(flat.subarray(q * n, q * n + q + 1)));

/** @param {any} s @param {string} address */
export async function headJson(s, address, passes) {
  const n = s.run.tokens.length;
  const { layer, head } = shownHead(s);
  const rows = [];
  if (head !== null) {
    for (let q = 0; q < n; q++) {
      const row = await passes.pass.row(layer, head, q);
      rows.push({
        query: q,
        qk: Array.from(row.qk),
        scaled: Array.from(row.scaled, (v) => (Number.isFinite(v) ? v : null)),
        share: Array.from(row.share),
      });
    }
  }
  const shares = triangle(await shownPattern(s, passes), n);
  return JSON.stringify({ ...settings(s, address), tokens: tokens(s), shares, ...(head === null ? {} : { rows }) });
}

/** @param {any} s @param {string} address */
export async function headNpz(s, address, passes) {
  const n = s.run.tokens.length;
  return makeNpz({
    attn: { values: await shownPattern(s, passes), shape: [n, n] },
    ids: { values: Int32Array.from(s.run.tokens, (t) => t.id) },
    settings_json: { values: JSON.stringify({ ...settings(s, address), tokens: tokens(s) }) },
  });
}

/**
 * Shares of all heads, with the next tokens and the head statistics.
 * @param {any} s @param {string} address @param {any} passes @param {'json'|'npz'} form
 * @param {{onProgress: (done: number, total: number) => void, signal: AbortSignal}} options
 */
export async function everything(s, address, { pass }, form, { onProgress, signal }) {
  const n = s.run.tokens.length;
  const { layers, heads } = s.run.shape;
  const attn = new Float32Array(form === 'npz' ? layers * heads * n * n : 0);
  const patterns = [];
  for (let i = 0; i < layers * heads; i++) {
    if (signal.aborted) throw signal.reason;
    const flat = await pass.pattern(Math.floor(i / heads), i % heads);
    if (form === 'npz') attn.set(flat, i * n * n);
    else patterns.push({ layer: Math.floor(i / heads), head: i % heads, shares: triangle(flat, n) });
    onProgress(i + 1, layers * heads);
  }
  const about = { ...settings(s, address), tokens: tokens(s), statistics: await pass.heads() };
  const next = [];
  for (let p = 0; p < n; p++) next.push(await pass.top(10, p));
  if (form === 'json') return JSON.stringify({ ...about, next, heads: patterns });
  return makeNpz({
    attn: { values: attn, shape: [layers, heads, n, n] },
    ids: { values: Int32Array.from(s.run.tokens, (t) => t.id) },
    settings_json: { values: JSON.stringify({ ...about, next }) },
  });
}

/** A file name that tells what is in it. @param {any} s */
export function fileStem(s) {
  const { layer, head } = shownHead(s);
  return `lookback-${head === null ? 'average' : shortHead(layer, head)}-token${query(s)}`;
}
