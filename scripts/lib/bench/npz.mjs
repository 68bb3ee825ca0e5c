// Reads float32 arrays out of a numpy .npz: a zip of .npy files, stored or deflated.
import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';

/**
 * @param {string} path
 * @param {string} name of the array
 * @returns {Float32Array}
 */
export function readNpz(path, name) {
  const zip = readFileSync(path);
  // The end record is at the very end, since numpy writes no comment.
  const end = zip.length - 22;
  if (zip.readUInt32LE(end) !== 0x06054b50) throw new Error(`${path} is not a zip without comment`);
  let at = zip.readUInt32LE(end + 16);
  for (let i = 0; i < zip.readUInt16LE(end + 10); i++) {
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.toString('utf8', at + 46, at + 46 + nameLength) === `${name}.npy`) return readNpy(member(zip, at));
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`${path} has no array ${name}`);
}

function member(zip, entry) {
  const method = zip.readUInt16LE(entry + 10);
  const packedBytes = zip.readUInt32LE(entry + 20);
  const local = zip.readUInt32LE(entry + 42);
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const packed = zip.subarray(start, start + packedBytes);
  return method === 0 ? packed : inflateRawSync(packed);
}

function readNpy(npy) {
  const wide = npy[6] >= 2;
  const headerLength = wide ? npy.readUInt32LE(8) : npy.readUInt16LE(8);
  const start = (wide ? 12 : 10) + headerLength;
  const header = npy.toString('latin1', 8, start);
  if (!/'descr': '<f4'/.test(header) || /'fortran_order': True/.test(header))
    throw new Error(`not float32 in C order: ${header}`);
  return new Float32Array(npy.buffer.slice(npy.byteOffset + start, npy.byteOffset + npy.length));
}
