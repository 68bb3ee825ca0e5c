// serve.mjs FOLDER [--port N] [--no-isolation] [--base /sub/path/]: serves a built site; the address is the last line.
import { parseArgs } from 'node:util';
import { serveFolder } from './static_server.mjs';

const USAGE = 'usage: scripts/serve [--port N] [--no-isolation] [--base /sub/path/]';

function wrongCall(sentence) {
  console.error(`${sentence}\n${USAGE}`);
  process.exit(2);
}

let options;
let folder;
try {
  const parsed = parseArgs({
    allowPositionals: true,
    options: {
      port: { type: 'string', default: '8080' },
      'no-isolation': { type: 'boolean', default: false },
      base: { type: 'string', default: '/' },
      check: { type: 'boolean', default: false }, // only look at the arguments
    },
  });
  options = parsed.values;
  if (parsed.positionals.length !== 1) wrongCall(`unexpected argument ${parsed.positionals[1]}`);
  folder = parsed.positionals[0];
} catch (error) {
  wrongCall(error.message);
}
const port = Number(options.port);
if (!/^\d+$/.test(options.port) || port > 65535) wrongCall(`--port ${options.port} is not a port (0 to 65535)`);
if (!/^\/([\w.~-]+\/)*$/.test(options.base))
  wrongCall(`--base ${options.base} must start and end with a slash, like /sub/path/`);
if (options.check) process.exit(0);

try {
  const { url } = await serveFolder({ folder, port, isolation: !options['no-isolation'], base: options.base });
  console.log(url);
} catch (error) {
  const sentence =
    error.code === 'EADDRINUSE'
      ? `port ${port} is taken on 127.0.0.1; choose another with --port N`
      : `port ${port} on 127.0.0.1: ${error.message}`;
  console.error(`error: port_taken: ${sentence}`);
  process.exit(1);
}
