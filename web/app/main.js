// Composition: makes the store, the session over the engine and the views, and ties them to the address and the theme. Alone knows engine and view.

import * as engine from '../engine/index.js';
import { createStore } from './store.js';
import { createSession } from './session.js';
import { createActions } from './actions.js';
import { keepFresh } from './resources.js';
import { EXAMPLES, STORED } from './examples.js';
import { sourceFromLink } from './sources.js';
import { keepAddress } from './address.js';
import { decodeLink } from './link_state.js';
import { followTheme } from './theme.js';
import { announce } from './announce.js';
import { keepForOffline } from './offline.js';
import { mountViews } from './views.js';
import { createJobs } from './jobs.js';

const page = document.baseURI;
const link = decodeLink(location.hash);
const first = EXAMPLES[0];
const named = location.hash.length > 1;

const wanted = sourceFromLink(link.model, page);

/** What the address names over the article's first example; a link with another text starts at its last token. */
function viewOf(view) {
  const own = view.text !== undefined && view.text !== first.text;
  return {
    text: view.text ?? first.text,
    layer: view.layer ?? (view.head === null ? 0 : first.layer),
    head: view.head === undefined ? first.head : view.head,
    lastHead: view.head ?? first.head,
    token: view.token ?? (own || named ? null : first.token),
    off: view.off ?? [],
    shade: view.shade ?? 'word',
    sort: view.sort === 'share' ? 'share' : 'position',
    aside: view.aside ?? false,
    words: view.words ?? false,
    target: view.target && /^\d+$/.test(view.target) ? { id: Number(view.target), text: '' } : null,
  };
}

const store = createStore({
  ...viewOf(link),
  theme: 'light',
  themeChoice: null,
  source: wanted.source,
  precision: 'exact',
  load: { status: 'loading', phase: 'download', loaded: 0, total: null, rate: null },
  linkAsks: wanted.ask,
  lostFile: wanted.lost,
  info: null,
  example: null,
  run: null,
  clean: null,
  running: false,
  problem: null,
  previewHead: null,
  hover: null,
  marked: null,
  offBefore: [],
  open: null,
  panels: {},
  effects: null,
  data: {},
  said: '',
  guide: null,
  guideHeads: null,
  guidePrevious: null,
  price: null,
  copying: null,
  figures: null,
  writing: null,
});

const session = createSession(store, engine);
const fresh = keepFresh(store, session.passesOf, (busy) => document.documentElement.toggleAttribute('data-busy', busy));
session.onRunGone(fresh.forget);

/** Runs made by the build stand in until the weights are in; without them the page simply waits. */
async function showStored(name) {
  try {
    const response = STORED[name] && (await fetch(STORED[name]));
    if (!response?.ok) return;
    const json = await response.json();
    if (json.text === store.state.text) session.showStored(json);
  } catch {
    // No stored run: the live model answers in a moment.
  }
}

const jobs = createJobs(store, session, {
  computeFigures: async (model, options) => (await import('../engine/figures.js')).computeFigures(model, options),
});
const actions = createActions(store, session, jobs, { stored: showStored, page });
// Before the views, whose making takes a moment: the engine's worker starts meanwhile.
session.load(wanted.source);
followTheme(store);
mountViews(
  document,
  {
    get state() {
      return store.state;
    },
    subscribe: store.subscribe,
  },
  actions,
);
announce(store, document);

keepAddress(store, (link) => {
  const view = viewOf(link);
  const rerun = view.text !== store.state.text || JSON.stringify(view.off) !== JSON.stringify(store.state.off);
  store.set({ ...view, hover: null, open: null, offBefore: [] });
  if (rerun) session.run();
});

const example = EXAMPLES.find((e) => e.text === store.state.text);
if (example && store.state.off.length === 0) showStored(example.name);
keepForOffline(store, page);
