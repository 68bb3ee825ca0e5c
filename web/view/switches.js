// Owns: what is switched off, the followed token before and after, undo, and the hunt for heads that matter. Touches store and actions only.

import { h, setText, replaceChildren } from './dom.js';
import { tokenText } from './token_text.js';
import { shownToken } from './visible_text.js';
import { query, target, shortHead } from '../app/selectors.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function switches(root, store, actions) {
  const followed = h('div', { class: 'followed', 'data-view': 'followed' });
  const list = h('ul', { class: 'off-list', 'data-view': 'off' });
  const undo = h('button', {
    type: 'button',
    class: 'button',
    'data-action': 'undo',
    text: 'Undo',
    onclick: () => actions.undoOff(),
  });
  const all = h('button', {
    type: 'button',
    class: 'button',
    'data-action': 'all-on',
    text: 'All on again',
    onclick: () => actions.setOff([]),
  });
  const find = h('button', {
    type: 'button',
    class: 'button',
    'data-action': 'effects',
    text: 'Which heads matter here?',
    onclick: () => actions.findEffects(),
  });
  const stop = h('button', { type: 'button', class: 'quiet', text: 'Cancel', onclick: () => actions.cancelEffects() });
  const progress = h('progress', { max: 1, value: 0, 'aria-label': 'Heads switched off so far' });
  const progressText = h('span', { class: 'note' });
  const running = h('div', { class: 'row', hidden: true }, progress, progressText, stop);
  root.append(
    followed,
    h('h3', { text: 'Switched off' }),
    list,
    h('div', { class: 'row' }, undo, all),
    h('p', {
      class: 'note',
      text: 'A share shows where a head looks. Only switching it off shows whether that matters for the answer.',
    }),
    h('div', { class: 'row' }, find),
    running,
  );

  function updateFollowed(s) {
    const st = s.data.standing;
    const t = target(s);
    const current = st && !st.failed && st.position === query(s) && (!t || st.id === t.id);
    if (!s.run || (!current && s.run.stored)) return replaceChildren(followed);
    if (!current) return;
    const name = st.text || t?.text || s.data.top?.list?.find((x) => x.id === st.id)?.text || `#${st.id}`;
    const before = st.before ?? st.now;
    const moved = st.before !== null;
    const delta = st.now.probability - before.probability;
    replaceChildren(
      followed,
      h(
        'div',
        { class: 'followed-name' },
        h('span', { class: 'note', text: s.target ? 'followed' : 'the first answer, followed' }),
        h('b', {}, tokenText({ text: name })),
      ),
      h(
        'div',
        { class: 'followed-numbers' },
        h('span', {
          'data-moment': 'before',
          'data-value': before.probability,
          text: format.share(before.probability),
        }),
        moved && h('span', { 'aria-label': 'becomes', text: '→' }),
        moved &&
          h('span', {
            'data-moment': 'after',
            'data-value': st.now.probability,
            text: format.share(st.now.probability),
          }),
        moved && h('span', { class: delta < 0 ? 'minus-text' : 'plus-text', text: `${format.points(delta)} points` }),
      ),
      h('div', {
        class: 'note',
        text: `score ${format.signed(before.logit)}${moved ? ` → ${format.signed(st.now.logit)}` : ''} · ${format.count(before.rank)}${ordinal(before.rank)}${moved ? ` → ${format.count(st.now.rank)}${ordinal(st.now.rank)}` : ''} of ${format.count(s.run.shape.vocab)}`,
      }),
    );
  }

  function updateList(s) {
    const tokens = s.run?.tokens ?? [];
    replaceChildren(
      list,
      ...s.off.map((o) => {
        const link = o.query !== undefined;
        const fits =
          !s.run || (o.layer < s.run.shape.layers && o.head < s.run.shape.heads && (!link || o.query < tokens.length));
        const what = link
          ? `${shortHead(o.layer, o.head)}: ${fits && tokens[o.query] ? `${shownToken(tokens[o.query])} → ${shownToken(tokens[o.key])}` : `${o.query} → ${o.key}`}`
          : shortHead(o.layer, o.head);
        return h(
          'li',
          { class: 'row' },
          h('button', {
            type: 'button',
            class: 'quiet',
            text: what,
            title: 'Show this head',
            onclick: () => actions.goToHead(o.layer, o.head),
          }),
          !fits && h('span', { class: 'note', text: 'not in this text' }),
          h('button', {
            type: 'button',
            class: 'quiet push',
            text: 'switch on',
            'aria-label': `switch on ${what}`,
            onclick: () => actions.toggleOff(o),
          }),
        );
      }),
      s.off.length === 0 &&
        h('li', {
          class: 'note',
          text: 'Nothing. Switch a head off where its pattern stands, or cut one link in the table.',
        }),
    );
    undo.disabled = s.offBefore.length === 0;
    all.disabled = s.off.length === 0;
  }

  function updateEffects(s) {
    const e = s.effects;
    find.disabled = !s.run || !s.clean || s.clean.stored || e?.status === 'running';
    running.hidden = !e;
    if (!e) return;
    progress.value = e.done / e.total;
    progress.hidden = stop.hidden = e.status !== 'running';
    setText(
      progressText,
      e.status === 'running'
        ? `${e.done} of ${e.total} heads`
        : e.status === 'done'
          ? `Done: ${e.total} heads, each off alone, for “${shownToken(e)}” after token ${e.position}. The atlas shows it.`
          : e.status === 'failed'
            ? e.message
            : `Stopped after ${e.done} of ${e.total} heads; the atlas shows those.`,
    );
  }

  store.subscribe((s, b) => {
    if (s.data.standing !== b.data.standing || changed(s, b, ['run', 'hover', 'token', 'target'])) updateFollowed(s);
    if (changed(s, b, ['off', 'offBefore', 'run'])) updateList(s);
    if (changed(s, b, ['effects', 'run', 'clean'])) updateEffects(s);
  });
  updateList(store.state);
  updateEffects(store.state);
}

function ordinal(n) {
  const tens = n % 100;
  return tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');
}
