// One visit of the benchmark's page: window.visit says what to measure, window.visitResult what came of it.
import { measure } from './measure.js';

/** onnxruntime-web computes on the thread it is called from, so it gets a worker; the others bring their own. */
function measureInWorker(visit) {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'bench' });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data.result));
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(visit);
  });
}

try {
  const { visit } = window;
  const result = await (visit.inWorker ? measureInWorker(visit) : measure(visit));
  window.visitResult = { ...result, isolated: crossOriginIsolated };
} catch (error) {
  window.visitResult = { error: String(error?.stack ?? error) };
}
