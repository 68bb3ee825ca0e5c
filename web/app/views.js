// Owns: which view stands where. Makes every view once; from then on each follows the store by itself.

import { h } from '../view/dom.js';
import { prompt } from '../view/prompt.js';
import { loadStatus } from '../view/load_status.js';
import { modelsDialog } from '../view/models_dialog.js';
import { masthead } from '../view/masthead.js';
import { tokenStrip } from '../view/token_strip.js';
import { headChoice } from '../view/head_choice.js';
import { headGrid } from '../view/head_grid.js';
import { headPane } from '../view/head_pane.js';
import { scoreTableView } from '../view/score_table.js';
import { mixPanel } from '../view/mix_panel.js';
import { nextList } from '../view/next_list.js';
import { switches } from '../view/switches.js';
import { depthPanel } from '../view/depth_panel.js';
import { writersPanel } from '../view/writers_panel.js';
import { guidePanel } from '../view/guide_panel.js';
import { copyingPanel } from '../view/copying_panel.js';
import { writePanel } from '../view/write_panel.js';
import { pricePanel } from '../view/price_panel.js';
import { figuresPanel } from '../view/figures_panel.js';

/** A panel that works only while it is open. */
function panel(root, store, actions, { name, title, make, teaser }) {
  const body = h('div', { class: 'stack panel-body' });
  const details = h(
    'details',
    { class: 'panel', 'data-panel': name, ontoggle: () => actions.openPanel(name, details.open) },
    h(
      'summary',
      {},
      h('span', { class: 'panel-title', text: title }),
      teaser && h('span', { class: 'note', text: teaser }),
    ),
    body,
  );
  root.append(details);
  make(body, store, actions);
}

/** @param {Document} document @param {any} store @param {import('./actions.js').Actions} actions */
export function mountViews(document, store, actions) {
  const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
  const dialogs = at('dialogs');
  const models = modelsDialog(dialogs, store, actions);
  masthead(at('masthead-tools'), dialogs, store, actions);
  loadStatus(at('weights'), store, actions, models);
  prompt(at('prompt-box'), store, actions);
  tokenStrip(at('strip'), store, actions);
  guidePanel(at('guide'), store, actions);
  headChoice(at('head-choice'), store, actions);
  headGrid(at('atlas'), store, actions);
  scoreTableView(at('scores'), store, actions);
  mixPanel(at('mix'), store);
  headPane(at('head-pane'), store, actions);
  nextList(at('next'), store, actions);
  switches(at('switches'), store, actions);
  panel(at('inside'), store, actions, {
    name: 'depth',
    title: 'Depth',
    teaser: 'what it would answer after each layer',
    make: depthPanel,
  });
  panel(at('inside'), store, actions, {
    name: 'writers',
    title: 'Who wrote the answer',
    teaser: 'the score, split into its parts',
    make: writersPanel,
  });
  const further = at('further');
  panel(further, store, actions, {
    name: 'copying',
    title: 'Copying, live',
    teaser: 'heads that look at what came next last time, and the text without them',
    make: copyingPanel,
  });
  panel(further, store, actions, {
    name: 'write',
    title: 'Write on',
    teaser: 'continue the text, or ask; every new token can be tapped',
    make: writePanel,
  });
  panel(further, store, actions, {
    name: 'price',
    title: 'Price',
    teaser: 'n·(n+1)/2, and measured milliseconds',
    make: pricePanel,
  });
  panel(further, store, actions, {
    name: 'figures',
    title: 'The article’s figures',
    teaser: 'every measured claim, on the loaded weights',
    make: figuresPanel,
  });
}
