// What the first bytes of an answer are. Owns: telling a model from what servers and disks hold in its place. Start reading at: sniff.

import { LookbackError } from './errors.js';

/** Bytes needed to tell. */
export const SNIFF_BYTES = 512;

/**
 * @param {Uint8Array} bytes   the first of the file
 * @returns {'html' | 'git-lfs' | 'json' | 'binary'}
 */
export function sniff(bytes) {
  const text = new TextDecoder('latin1')
    .decode(bytes.subarray(0, SNIFF_BYTES))
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .trimStart();
  if (/^<(!doctype|html|head|body|\?xml|!--)/i.test(text)) return 'html';
  if (text.startsWith('version https://git-lfs')) return 'git-lfs';
  // A safetensors header starts with its length, so a bare brace is JSON.
  if (/^[{[]\s*("|\}|\]|\{|\[|-?\d)/.test(text) && /^[{[]/.test(text)) return 'json';
  return 'binary';
}

/**
 * Throws unless the bytes can be a weights file.
 * @param {Uint8Array} bytes
 * @param {string} where   address or path, for the sentence
 */
export function refuseOtherContent(bytes, where) {
  const kind = sniff(bytes);
  if (kind === 'binary') return;
  const shown = JSON.stringify(new TextDecoder().decode(bytes.subarray(0, 60)).trim());
  if (kind === 'html') {
    const blob = /\/blob\//.test(where)
      ? '; this is the address of a hub page, the file itself has /resolve/ in the place of /blob/'
      : '';
    throw new LookbackError('wrong_content', `${where} holds a web page (${shown}), expected a weights file${blob}`);
  }
  if (kind === 'git-lfs') {
    throw new LookbackError(
      'wrong_content',
      `${where} holds a git-lfs pointer, not the file it points to (${shown}): fetch it with git lfs, or from an address with /resolve/ in it`,
    );
  }
  throw new LookbackError('wrong_content', `${where} holds JSON (${shown}), expected a weights file`);
}

/**
 * What an error answer's body looks like, in a few words.
 * @param {Uint8Array} bytes
 */
export function describeBody(bytes) {
  if (bytes.length === 0) return 'an empty answer';
  const shown = JSON.stringify(new TextDecoder().decode(bytes.subarray(0, 60)).trim());
  const kind = sniff(bytes);
  if (kind === 'html') return `a web page (${shown})`;
  if (kind === 'json') return `JSON (${shown})`;
  return `an answer that begins ${shown}`;
}
