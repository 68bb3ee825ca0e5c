// The worker's side of the border: one verb table, one try/catch. The module and `post` are handed in, so tests need no worker.
// Owns: running requests, cancel, the end after a trap. May touch: session, protocol, errors. Start reading at: HANDLERS.

import { errorToMessage, LookbackError } from './errors.js';
import { EVENTS, PROTOCOL_VERSION, VERBS } from './protocol.js';
import { Session } from './session.js';

/**
 * What a request can use besides its arguments.
 * @typedef {{signal: AbortSignal, emit: (event: string, value: object) => void}} Context
 */

/** @type {Record<string, (session: Session, args: any, context: Context) => any>} */
const HANDLERS = {
  [VERBS.hello]: () => ({ version: PROTOCOL_VERSION }),
  [VERBS.load]: (session, args, context) => session.load(args, context),
  [VERBS.inspect]: (session, args, context) => session.inspect(args, context),
  [VERBS.tokenize]: (session, args) => session.tokenize(args),
  [VERBS.detokenize]: (session, args) => session.detokenize(args),
  [VERBS.chat]: (session, args) => session.chat(args),
  [VERBS.forward]: (session, args, context) => session.forward(args, context),
  [VERBS.disposePass]: (session, args) => session.disposePass(args),
  [VERBS.openGeneration]: (session, args, context) => session.openGeneration(args, context),
  [VERBS.nextToken]: (session, args, context) => session.nextToken(args, context),
  [VERBS.closeGeneration]: (session, args) => session.closeGeneration(args),
  [VERBS.logits]: (session, args) => session.read(args, 'logits', session.position(args)),
  [VERBS.top]: (session, args) => session.top(args),
  [VERBS.row]: (session, args) => session.read(args, 'row', args.layer, args.head, args.query),
  [VERBS.look]: (session, args) => session.read(args, 'look', args.query),
  [VERBS.lookedAtBy]: (session, args) => session.read(args, 'lookedAtBy', args.key),
  [VERBS.pattern]: (session, args) => session.read(args, 'pattern', args.layer, args.head),
  [VERBS.average]: (session, args) => session.read(args, 'average'),
  [VERBS.products]: (session, args) => session.read(args, 'products', args.layer, args.head, args.query, args.key),
  [VERBS.written]: (session, args) => session.read(args, 'written', args.layer, args.head, args.query),
  [VERBS.heads]: (session, args) => session.heads(args),
  [VERBS.lens]: (session, args) => session.lens(args),
  [VERBS.attribution]: (session, args) => session.attribution(args),
  [VERBS.effects]: (session, args, context) => session.effects(args, context),
  [VERBS.dispose]: (session) => session.dispose(),
};

/**
 * @param {import('./session.js').Environment & {post: (message: object, transfer?: Transferable[]) => void}} environment
 */
export function createDispatcher({ post, ...environment }) {
  const session = new Session(environment);
  /** @type {Map<number, AbortController>} */
  const running = new Map();
  let dead = false;

  /** @param {{id?: number, all?: boolean}} which */
  const cancel = ({ id, all }) => {
    for (const [request, controller] of running) if (all || request === id) controller.abort();
    return null;
  };

  /** @param {unknown} error */
  const die = (error) => {
    if (dead) return;
    dead = true;
    cancel({ all: true });
    session.abandon();
    post({ event: EVENTS.fatal, value: { code: 'fatal', message: `the engine stopped: ${trapText(error)}` } });
  };

  /** @param {{id: number, verb: string, args: any}} message */
  async function receive({ id, verb, args }) {
    if (dead) return; // its caller was told with `fatal`
    const controller = new AbortController();
    if (verb !== VERBS.cancel) running.set(id, controller);
    try {
      let value;
      if (verb === VERBS.cancel) {
        value = cancel(args ?? {});
      } else if (Object.hasOwn(HANDLERS, verb)) {
        const emit = (/** @type {string} */ event, /** @type {object} */ eventValue) => {
          if (!dead && !controller.signal.aborted) post({ id, event, value: eventValue });
        };
        value = await HANDLERS[verb](session, args ?? {}, { signal: controller.signal, emit });
      } else {
        throw new LookbackError('unknown_verb', `"${verb}" is no verb of protocol ${PROTOCOL_VERSION}`);
      }
      if (!dead) post({ id, ok: true, value: value ?? null }, buffersOf(value));
    } catch (error) {
      if (isTrap(error)) die(error);
      else if (!dead) post({ id, ok: false, error: errorToMessage(error) });
    } finally {
      running.delete(id);
    }
  }

  return {
    receive,
    close: () => {
      cancel({ all: true });
      if (!dead) session.dispose();
    },
  };
}

/**
 * Buffers of fresh arrays in an answer, at its top or one level down: they are moved, not copied.
 * @param {any} value
 * @returns {Transferable[]}
 */
function buffersOf(value) {
  if (value === null || typeof value !== 'object') return [];
  const arrays = ArrayBuffer.isView(value) ? [value] : Object.values(value).filter((each) => ArrayBuffer.isView(each));
  return [...new Set(arrays.map(({ buffer }) => /** @type {ArrayBuffer} */ (buffer)))];
}

/**
 * A trap, an abort or an exhausted stack inside the module: its memory cannot be trusted any more.
 * @param {unknown} error
 */
function isTrap(error) {
  return (
    error instanceof WebAssembly.RuntimeError || (error instanceof RangeError && /call stack/i.test(error.message))
  );
}

/** @param {any} error */
const trapText = (error) => String(error?.message ?? error).replace(/\s+/g, ' ');
