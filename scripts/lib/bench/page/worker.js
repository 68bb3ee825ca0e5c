import { measure } from './measure.js';

onmessage = async ({ data: visit }) => {
  try {
    postMessage({ result: await measure(visit) });
  } catch (error) {
    postMessage({ error: String(error?.stack ?? error) });
  }
};
