// A static file server like the hosts that the site is made for: byte ranges, validators, gzip left out, and the two
// headers that give the page threads (COOP, COEP), which can be left out to see the page on a host that does not send them.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, resolve, sep } from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
};

// What a careful host would send: nothing but the page's own scripts, workers and wasm.
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data: blob:; connect-src 'self' https: http: blob: data:; object-src 'none'; base-uri 'none'";

/**
 * @param {object} options
 * @param {string} options.folder what to serve
 * @param {number} [options.port] 0 takes a free one
 * @param {boolean} [options.isolation] send COOP and COEP (default true)
 * @param {string} [options.base] the path under which the folder stands, "/" or "/sub/path/"
 * @param {string|null} [options.policy] the Content-Security-Policy sent; null for none, for code that is not ours
 * @param {(file: string) => void} [options.onFile] told each file that goes out
 * @returns {Promise<{url: string, close: () => Promise<void>}>}
 */
export async function serveFolder({
  folder,
  port = 0,
  isolation = true,
  base = '/',
  policy = CONTENT_SECURITY_POLICY,
  onFile = () => {},
}) {
  const top = resolve(folder);
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500, { 'Content-Type': 'text/plain' });
      response.end(`500 ${error.message}\n`);
    });
  });

  async function answer(request, response) {
    const headers = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' };
    if (policy) headers['Content-Security-Policy'] = policy;
    if (isolation) {
      headers['Cross-Origin-Opener-Policy'] = 'same-origin';
      headers['Cross-Origin-Embedder-Policy'] = 'require-corp';
      headers['Cross-Origin-Resource-Policy'] = 'same-origin';
    }
    const refuse = (status, text, more = {}) => {
      response.writeHead(status, { ...headers, ...more, 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(request.method === 'HEAD' ? undefined : `${status} ${text}\n`);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return refuse(405, 'only GET and HEAD', { Allow: 'GET, HEAD' });
    let path;
    try {
      path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    } catch {
      return refuse(400, 'not an address');
    }
    if (path + '/' === base) return refuse(301, 'moved', { Location: base });
    if (!path.startsWith(base) || path.includes('\0')) return refuse(404, 'not found');
    let file = resolve(join(top, path.slice(base.length)));
    if (file !== top && !file.startsWith(top + sep)) return refuse(404, 'not found');
    let info = await stat(file).catch(() => null);
    if (info?.isDirectory()) {
      file = join(file, 'index.html');
      info = await stat(file).catch(() => null);
    }
    if (!info?.isFile()) return refuse(404, 'not found');

    onFile(file);
    const etag = `"${info.size.toString(16)}-${Math.trunc(info.mtimeMs).toString(16)}"`;
    Object.assign(headers, { ETag: etag, 'Last-Modified': info.mtime.toUTCString(), 'Accept-Ranges': 'bytes' });
    headers['Content-Type'] = TYPES[extname(file)] ?? 'application/octet-stream';
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304, headers);
      return response.end();
    }
    let [first, last, status] = [0, info.size - 1, 200];
    const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
    const ifRange = request.headers['if-range'];
    if (range && (range[1] || range[2]) && (!ifRange || ifRange === etag || ifRange === headers['Last-Modified'])) {
      first = range[1] ? Number(range[1]) : Math.max(0, info.size - Number(range[2]));
      last = range[1] && range[2] ? Math.min(Number(range[2]), info.size - 1) : info.size - 1;
      if (first > last) return refuse(416, 'no such range', { 'Content-Range': `bytes */${info.size}` });
      headers['Content-Range'] = `bytes ${first}-${last}/${info.size}`;
      status = 206;
    }
    headers['Content-Length'] = String(last - first + 1);
    response.writeHead(status, headers);
    if (request.method === 'HEAD' || info.size === 0) return response.end();
    const stream = createReadStream(file, { start: first, end: last });
    stream.on('error', () => response.destroy());
    response.on('close', () => stream.destroy());
    stream.pipe(response);
  }

  await new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', done);
  });
  return {
    url: `http://127.0.0.1:${server.address().port}${base}`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
