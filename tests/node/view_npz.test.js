import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeNpz } from '../../web/app/npz.js';

// Read back with Python's own zip reader, which checks every CRC, and the header as the .npy format defines it.
const READ = `
import ast, json, struct, sys, zipfile
out = {}
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    for name in z.namelist():
        b = z.read(name)
        assert b[:8] == b'\\x93NUMPY\\x01\\x00'
        size, = struct.unpack('<H', b[8:10])
        assert (10 + size) % 64 == 0
        head = ast.literal_eval(b[10:10 + size].decode())
        data = b[10 + size:]
        form = {'<f4': 'f', '<i4': 'i', '|u1': 'B'}[head['descr']]
        out[name] = [head['shape'], list(struct.unpack('<%d%s' % (len(data) // struct.calcsize(form), form), data))]
print(json.dumps(out))
`;

test('arrays come back from an .npz, shapes and bytes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'npz-'));
  try {
    const blob = makeNpz({
      attn: { values: Float32Array.of(1, 0.5, -2, 3.25, 0, 9), shape: [1, 2, 3] },
      ids: { values: Int32Array.of(-1, 49151) },
      settings_json: { values: '{"text":"é😀"}' },
    });
    const file = join(folder, 'a.npz');
    writeFileSync(file, Buffer.from(await blob.arrayBuffer()));
    const read = JSON.parse(execFileSync('python3', ['-c', READ, file], { encoding: 'utf8' }));
    assert.deepEqual(read['attn.npy'], [
      [1, 2, 3],
      [1, 0.5, -2, 3.25, 0, 9],
    ]);
    assert.deepEqual(read['ids.npy'], [[2], [-1, 49151]]);
    assert.equal(Buffer.from(read['settings_json.npy'][1]).toString(), '{"text":"é😀"}');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
