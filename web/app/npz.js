// Owns: writing arrays as .npz (a zip of .npy files, stored, not packed). May touch: nothing.
// Source: numpy.lib.format, version 1.0; PKWARE APPNOTE 4.3 for the zip records.

const CRC = new Uint32Array(256).map((_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let c = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) c = CRC[(c ^ bytes[i]) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** @param {string} descr @param {number[]} shape @param {Uint8Array} data */
function npy(descr, shape, data) {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  let header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${tuple}, }`;
  // Magic, version and length take 10 bytes; data starts at a multiple of 64.
  header += ' '.repeat(63 - ((10 + header.length) % 64)) + '\n';
  const out = new Uint8Array(10 + header.length + data.length);
  out.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  out.set(new TextEncoder().encode(header), 10);
  out.set(data, 10 + header.length);
  return out;
}

/** @typedef {{values: Float32Array|Int32Array|string, shape?: number[]}} Entry a string becomes a UTF-8 byte array */

/** @param {Entry} entry */
function encode({ values, shape }) {
  if (typeof values === 'string') {
    const bytes = new TextEncoder().encode(values);
    return npy('|u1', [bytes.length], bytes);
  }
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return npy(values instanceof Float32Array ? '<f4' : '<i4', shape ?? [values.length], bytes);
}

/**
 * @param {Record<string, Entry>} arrays @returns {Blob}
 */
export function makeNpz(arrays) {
  /** @type {BlobPart[]} */
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [key, entry] of Object.entries(arrays)) {
    const name = new TextEncoder().encode(`${key}.npy`);
    const data = encode(entry);
    const crc = crc32(data);
    const local = new DataView(new ArrayBuffer(30));
    local.setUint32(0, 0x04034b50, true);
    local.setUint16(4, 20, true);
    local.setUint16(12, 0x21, true); // the first day a zip can name, so that equal content gives equal files
    local.setUint32(14, crc, true);
    local.setUint32(18, data.length, true);
    local.setUint32(22, data.length, true);
    local.setUint16(26, name.length, true);
    parts.push(local.buffer, name, data);

    const central = new DataView(new ArrayBuffer(46));
    central.setUint32(0, 0x02014b50, true);
    central.setUint16(4, 20, true);
    central.setUint16(6, 20, true);
    central.setUint16(14, 0x21, true);
    central.setUint32(16, crc, true);
    central.setUint32(20, data.length, true);
    central.setUint32(24, data.length, true);
    central.setUint16(28, name.length, true);
    central.setUint32(42, offset, true);
    directory.push(central.buffer, name);
    offset += 30 + name.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.byteLength, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, directory.length / 2, true);
  end.setUint16(10, directory.length / 2, true);
  end.setUint32(12, size, true);
  end.setUint32(16, offset, true);
  return new Blob([...parts, ...directory, end.buffer], { type: 'application/octet-stream' });
}
