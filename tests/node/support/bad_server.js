// A local server of one file that misbehaves as told.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

/**
 * @param {(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse, count: number) => void} handle
 */
export async function startServer(handle) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push({
      method: request.method,
      url: request.url,
      range: request.headers.range ?? null,
      ifRange: request.headers['if-range'] ?? null,
    });
    handle(request, response, requests.filter(({ method }) => method === 'GET').length);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address();
  return {
    url: (path = '/weights.gguf') => `http://127.0.0.1:${port}${path}`,
    requests,
    gets: () => requests.filter(({ method }) => method === 'GET'),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * A well-behaved answer, with ranges.
 * @param {{bytes: Buffer | Uint8Array, etag?: string | null, cutAt?: number, ranges?: boolean, gzip?: boolean, length?: boolean, perChunk?: number, pauseMs?: number}} what
 */
export function send(
  request,
  response,
  { bytes, etag = '"one"', cutAt = Infinity, ranges = true, gzip = false, length = true },
) {
  const headers = {};
  if (etag) headers.ETag = etag;
  let body = Buffer.from(bytes);
  let status = 200;
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  const fits = !request.headers['if-range'] || request.headers['if-range'] === etag;
  if (ranges && range && fits) {
    const start = Number(range[1]);
    if (start >= body.length) {
      response.writeHead(416, { 'Content-Range': `bytes */${body.length}` });
      return response.end();
    }
    headers['Content-Range'] = `bytes ${start}-${body.length - 1}/${body.length}`;
    body = body.subarray(start);
    status = 206;
  }
  if (gzip) {
    body = gzipSync(body);
    headers['Content-Encoding'] = 'gzip';
  }
  if (length) headers['Content-Length'] = body.length;
  response.writeHead(status, headers);
  if (request.method === 'HEAD') return response.end();
  if (cutAt >= body.length) return response.end(body);
  response.write(body.subarray(0, cutAt), () => setTimeout(() => response.destroy(), 20));
}

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
