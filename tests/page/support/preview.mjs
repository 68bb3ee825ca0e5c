// Serves the page's sources unbundled with the made-up engine, to look at layout: node tests/page/support/preview.mjs [port]
import { fileURLToPath } from 'node:url';
import { startServer } from './static_server.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const server = await startServer({
  root: fileURLToPath(new URL('../../../web', import.meta.url)),
  mounts: { '/engine/index.js': `${here}fake_engine.js` },
  port: Number(process.argv[2] ?? 8090),
});
console.log(server.url);
