// The package in a page of its own, bundled as a consumer would.
import * as lookback from '../../../../web/engine/index.js';

globalThis.lookback = lookback;
