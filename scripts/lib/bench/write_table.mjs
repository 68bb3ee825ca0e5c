// write_table.mjs REPORT.json README.md: puts the report's table between the README's markers. With --check it only says whether it is there already.
import { readFileSync, writeFileSync } from 'node:fs';

import { table } from './report.mjs';

const BEGIN = '<!-- bench: made by scripts/lib/bench/write_table.mjs; do not edit -->';
const END = '<!-- /bench -->';

/** @param {string} text @param {object} report @returns {string} */
export function withTable(text, report) {
  const [before, rest] = text.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`the file needs the lines\n${BEGIN}\n${END}`);
  return `${before}${BEGIN}\n\n${table(report)}\n\n${END}${after}`;
}

const [reportPath, readmePath, check] = process.argv.slice(2);
if (import.meta.filename === process.argv[1]) {
  const text = readFileSync(readmePath, 'utf8');
  const wanted = withTable(text, JSON.parse(readFileSync(reportPath, 'utf8')));
  if (check !== '--check') writeFileSync(readmePath, wanted);
  else if (text !== wanted) {
    process.stderr.write(`${readmePath} is not what ${reportPath} gives\n`);
    process.exit(1);
  }
}
