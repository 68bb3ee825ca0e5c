// dump_logits.mjs MODEL PRECISION VARIANT IDS_JSON OUT: the logits of every position as f32, for check_all_logits.py.
import { writeFileSync } from 'node:fs';
import { loadModel } from '../../dist/package/index.js';

const [source, precision, variant, ids, out] = process.argv.slice(2);
const model = await loadModel(source, { precision, variant });
const pass = await model.forward(JSON.parse(ids));
const rows = [];
for (let position = 0; position < pass.length; position++) rows.push(Buffer.from((await pass.logits(position)).buffer));
writeFileSync(out, Buffer.concat(rows));
await model.dispose();
