// A static file server for page tests: with or without cross-origin isolation, under a sub-path, with a strict CSP, with chosen faults.
import { createServer } from 'node:http';
import { createReadStream, statSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.gguf': 'application/octet-stream',
};

export const STRICT_CSP =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; img-src 'self' blob: data:; style-src 'self'";

/**
 * @param {{root: string, base?: string, isolation?: boolean, csp?: string, mounts?: Record<string, string>,
 *          answer?: (path: string, request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => boolean}} options
 *        mounts: address prefix → folder or file served in its place; answer: true when it dealt with the request itself
 * @returns {Promise<{url: string, seen: string[], close: () => Promise<void>}>}
 */
export function startServer({ root, base = '/', isolation = true, csp, mounts = {}, answer, port = 0 }) {
  /** @type {string[]} */
  const seen = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://x').pathname);
    seen.push(path);
    if (isolation) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    response.setHeader('Cache-Control', 'no-store');
    if (csp) response.setHeader('Content-Security-Policy', csp);
    if (answer?.(path, request, response)) return;
    if (!path.startsWith(base)) return void response.writeHead(404).end('not here');
    let local = normalize(`/${path.slice(base.length)}`);
    if (local.endsWith('/')) local += 'index.html';
    const mount = Object.keys(mounts).find((m) => local === m || local.startsWith(m.endsWith('/') ? m : `${m}/`));
    const file = mount ? join(mounts[mount], local.slice(mount.length)) : join(root, local);
    let size;
    try {
      const stat = statSync(file);
      if (!stat.isFile()) throw new Error('a folder');
      size = stat.size;
    } catch {
      return void response
        .writeHead(404, { 'Content-Type': 'text/html' })
        .end('<!doctype html><title>404</title>not here');
    }
    response.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/octet-stream');
    response.setHeader('Accept-Ranges', 'bytes');
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const [from, to] = range ? [Number(range[1]), range[2] ? Number(range[2]) : size - 1] : [0, size - 1];
    if (range) response.setHeader('Content-Range', `bytes ${from}-${to}/${size}`);
    response.writeHead(range ? 206 : 200, { 'Content-Length': Math.max(0, to - from + 1) });
    if (request.method === 'HEAD' || size === 0) return void response.end();
    createReadStream(file, { start: from, end: to }).pipe(response);
  });
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => {
      const address = /** @type {import('node:net').AddressInfo} */ (server.address());
      resolve({
        url: `http://127.0.0.1:${address.port}${base}`,
        seen,
        close: () =>
          new Promise((done) => {
            server.closeAllConnections();
            server.close(() => done());
          }),
      });
    });
  });
}
