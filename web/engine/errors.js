// The one error type of the package, and its way over the border.

/** `code` is one of ERRORS in protocol.js; the message says what, where and what was expected. */
export class LookbackError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {{offset?: number}} [details]
   */
  constructor(code, message, { offset } = {}) {
    super(message);
    // fetch and streams reject an abort with this name; callers tell it apart by the name alone.
    this.name = code === 'cancelled' ? 'AbortError' : 'LookbackError';
    this.code = code;
    if (offset !== undefined && offset !== null) this.offset = Number(offset);
  }
}

/** The error of an abort. */
export const cancelled = () => new LookbackError('cancelled', 'the request was cancelled by its signal');

/**
 * Throws when the signal has been aborted.
 * @param {AbortSignal | undefined | null} signal
 */
export function throwIfAborted(signal) {
  if (signal?.aborted) throw cancelled();
}

/**
 * The plain object that crosses the border.
 * @param {unknown} error
 * @returns {{code: string, message: string, offset?: number}}
 */
export function errorToMessage(error) {
  if (error instanceof LookbackError) {
    return {
      code: error.code,
      message: error.message,
      ...(error.offset === undefined ? {} : { offset: error.offset }),
    };
  }
  if (/** @type {any} */ (error)?.name === 'AbortError') return errorToMessage(cancelled());
  return { code: 'internal', message: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
}

/** @param {{code: string, message: string, offset?: number}} message */
export const errorFromMessage = ({ code, message, offset }) => new LookbackError(code, message, { offset });
