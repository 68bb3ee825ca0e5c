// What the Hugging Face hub itself records about a file: its SHA-256 and the commit. Nothing is invented: what it does not say is null.

/**
 * @typedef {{sha256: string | null, commit: string | null, bytes: number | null}} HubRecord
 */

const NOTHING = Object.freeze({ sha256: null, commit: null, bytes: null });
/** The hub's addresses of files: /OWNER/NAME/resolve/REVISION/PATH. */
const FILE_ADDRESS = /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/;
const TIMEOUT_MS = 10000;

/**
 * @param {string} url
 * @param {{fetch?: typeof fetch, signal?: AbortSignal}} [options]
 * @returns {Promise<HubRecord>}
 */
export async function hubRecord(url, { fetch = globalThis.fetch, signal } = {}) {
  const address = new URL(url);
  const match = FILE_ADDRESS.exec(address.pathname);
  if (!match) return NOTHING;
  const ask = {
    signal: signal ? AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) : AbortSignal.timeout(TIMEOUT_MS),
  };
  try {
    // The headers stand on the hub's own answer, before it sends on to its storage; a browser hides that answer.
    const head = await fetch(url, { ...ask, method: 'HEAD', redirect: 'manual', referrerPolicy: 'no-referrer' });
    if (head.type !== 'opaqueredirect') {
      const tag = (head.headers.get('x-linked-etag') ?? '').replace(/^W\/|"/g, '');
      const size = head.headers.get('x-linked-size');
      const commit = head.headers.get('x-repo-commit');
      if (tag || commit) {
        return { sha256: /^[0-9a-f]{64}$/.test(tag) ? tag : null, commit, bytes: size === null ? null : Number(size) };
      }
      if (head.type !== 'cors') return NOTHING;
    }
    const [, repository, revision, path] = match;
    const api = `${address.origin}/api/models/${repository}`;
    const folder = path.includes('/') ? `/${path.slice(0, path.lastIndexOf('/'))}` : '';
    const [files, about] = await Promise.all(
      [`${api}/tree/${revision}${folder}`, `${api}/revision/${revision}`].map(async (each) => {
        const answer = await fetch(each, { ...ask, referrerPolicy: 'no-referrer' });
        return answer.ok ? answer.json() : null;
      }),
    );
    const file = Array.isArray(files) ? files.find((each) => each?.path === decodeURIComponent(path)) : null;
    return {
      sha256: typeof file?.lfs?.oid === 'string' ? file.lfs.oid : null,
      commit: typeof about?.sha === 'string' ? about.sha : null,
      bytes: typeof file?.size === 'number' ? file.size : null,
    };
  } catch (error) {
    if (signal?.aborted) throw error;
    return NOTHING;
  }
}
