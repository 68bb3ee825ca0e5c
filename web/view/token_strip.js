// Owns: the text as a strip of chips, each shaded two ways around the word under focus. Touches store and actions only.
// Above a word: how much the pinned word looks at it. Below: how much it looks at the pinned word.

import { h, setText, setAttribute, setStyle, hovers } from './dom.js';
import { showToken } from './token_text.js';
import { shadeCanvas } from './shade_canvas.js';
import { sweep } from '../app/after_frame.js';
import { spokenToken } from './visible_text.js';
import { wordGroups, groupPattern, groupOf } from './word_groups.js';
import { shareColor, inkOnShare } from './color_scale.js';
import { density, walkList } from './layout.js';
import { query, pinned, shownHead, headName } from '../app/selectors.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

/** Sets an attribute of a chip, asking the chip's own record rather than the element. */
function setFlag(chip, name, attribute, value) {
  if (chip[name] === value) return;
  chip[name] = value;
  setAttribute(chip.button, attribute, value);
}

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function tokenStrip(root, store, actions) {
  const list = h('ol', {
    class: 'chips',
    'data-view': 'tokens',
    role: 'list',
    'aria-label': 'The words of the text',
  });
  const shades = shadeCanvas(list);
  const strip = h('div', { class: 'strip' }, list, shades.canvas);
  const empty = h('p', {
    class: 'note strip-empty',
    text: 'Type a text, and every piece the model reads stands here as a chip.',
  });
  const [captionAbove, captionBelow, captionEnd] = [h('b'), h('b'), h('span')];
  const caption = h(
    'p',
    { class: 'note strip-caption' },
    h('span', { class: 'key up', text: 'above' }),
    ' a word: how much ',
    captionAbove,
    ' looks at it · ',
    h('span', { class: 'key down', text: 'below' }),
    ': how much that word looks at ',
    captionBelow,
    captionEnd,
  );
  root.append(strip, empty);
  // Beside, not inside: on a phone the strip stays in reach while the page scrolls, the caption need not.
  root.after(caption);

  /** @type {(ReturnType<typeof makeChip>)[]} */
  const chips = [];
  let focusAt = -1;

  const indexOf = (event) => {
    const button = event.target instanceof Element ? event.target.closest('button[data-token]') : null;
    return button ? Number(button.getAttribute('data-token')) : null;
  };

  list.addEventListener('pointerover', (event) => {
    if (hovers(event)) {
      const index = indexOf(event);
      if (index !== null) actions.hoverToken(index);
    }
  });
  strip.addEventListener('pointerleave', () => actions.hoverToken(null));
  strip.addEventListener('click', (event) => {
    const index = indexOf(event);
    if (index !== null) actions.pinToken(index);
    else actions.freeToken();
  });
  list.addEventListener('focusin', (event) => {
    const index = indexOf(event);
    if (index === null) return;
    focusAt = index;
    rove();
    // A tap focuses too; only keys preview by focus.
    if (/** @type {Element} */ (event.target).matches(':focus-visible')) actions.hoverToken(index);
  });
  list.addEventListener('focusout', () => actions.hoverToken(null));
  list.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return actions.freeToken();
    const at = chips.findIndex((c) => c.start === indexOf(event));
    const to = at < 0 ? null : walkList(event.key, at, chips.length);
    if (to === null) return;
    event.preventDefault();
    chips[to].button.focus();
  });

  /** One chip can be reached with Tab; arrows walk from there. */
  function rove() {
    const s = store.state;
    const want = focusAt >= 0 ? focusAt : (pinned(s) ?? query(s));
    const at = Math.max(
      0,
      chips.findIndex((c) => want >= c.start && want < c.end),
    );
    chips.forEach((c, i) => setFlag(c, 'tab', 'tabindex', i === at ? '0' : '-1'));
  }

  function makeChip() {
    const up = h('span', { class: 'band up', 'aria-hidden': 'true' });
    const text = h('span', { class: 'chip-text' });
    const down = h('span', { class: 'band down', 'aria-hidden': 'true' });
    const button = h('button', { type: 'button', class: 'chip' }, up, text, down);
    return {
      button,
      up,
      text,
      down,
      token: /** @type {any} */ (null),
      spoken: '',
      start: 0,
      end: 1,
      tab: /** @type {string|null} */ (null),
      pressed: /** @type {string|null} */ (null),
      here: /** @type {string|null} */ (null),
      marked: /** @type {string|null} */ (null),
    };
  }

  function build(s) {
    const tokens = s.run?.tokens ?? [];
    const groups = s.words ? wordGroups(tokens) : tokens.map((_, i) => ({ start: i, end: i + 1 }));
    while (chips.length > groups.length) chips.pop()?.button.parentElement?.remove();
    const added = document.createDocumentFragment();
    groups.forEach(({ start, end }, i) => {
      let chip = chips[i];
      if (!chip) {
        chip = makeChip();
        chips.push(chip);
        added.append(h('li', {}, chip.button));
      }
      // A word of whole tokens is their text joined; the pieces of one character all carry that character.
      const token =
        end - start === 1
          ? tokens[start]
          : {
              text: tokens
                .slice(start, end)
                .map((t) => (t.piece && t.piece[0] > 0 ? '' : t.text))
                .join(''),
            };
      showToken(chip.text, token);
      if (chip.token !== token) chip.spoken = spokenToken(token);
      chip.token = token;
      chip.start = start;
      chip.end = end;
      setAttribute(chip.button, 'data-token', start);
    });
    list.append(added);
    setAttribute(strip, 'data-density', density(groups.length));
    strip.hidden = tokens.length === 0;
    shades.moved();
    empty.hidden = tokens.length > 0 || s.running;
    setText(
      empty,
      s.text === ''
        ? 'Type a text, and every piece the model reads stands here as a chip.'
        : 'These words are read as soon as the weights are in.',
    );
    if (focusAt >= tokens.length) focusAt = -1;
    rove();
  }

  /** @returns {{values: ArrayLike<number>, n: number, at: number}|null} shares between chips, and the chip under focus */
  function sharesOf(s) {
    const p = s.data.pattern;
    const n = s.run?.tokens.length ?? 0;
    if (!p || p.failed || p.n !== n) return null;
    const at = query(s);
    if (!s.words) return { values: p.values, n, at };
    const groups = chips.map(({ start, end }) => ({ start, end }));
    return { values: groupPattern(p.values, n, groups), n: groups.length, at: groupOf(groups, at) };
  }

  function band(node, share, state, theme) {
    setAttribute(node, 'data-state', state);
    setStyle(node, 'background-color', share === null ? '' : shareColor(share, theme));
    const text = share !== null && share >= 0.0095 ? format.share(share) : null;
    // Not text of the chip: its name stays the word, and the digits are said by the label.
    setAttribute(node, 'data-share', text);
    if (text !== null) setStyle(node, 'color', inkOnShare(/** @type {number} */ (share), theme));
  }

  /** @type {ReturnType<typeof sharesOf>} */
  let shares = null;

  const covers = ({ start, end }, token) => token !== null && token >= start && token < end;

  /** What each chip says of itself. Nobody sees it, so it is written once the frame stands. */
  const nameChips = sweep((i) => {
    const chip = chips[i];
    if (!shares || !chip || i >= shares.n) return;
    const { values, n, at } = shares;
    const looks = i > at ? 'comes later' : `is looked at ${format.share(values[at * n + i])}`;
    const seen = i < at ? '' : `, looks at it ${format.share(values[i * n + at])}`;
    const isPinned = covers(chip, pinned(store.state));
    setAttribute(
      chip.button,
      'aria-label',
      `${chip.spoken}, token ${chip.start}${isPinned ? ', pinned' : ''}: ${i === at ? 'the word shown, ' : ''}${looks}${seen}`,
    );
  });

  function paintBands(s, roomy) {
    chips.forEach((chip, i) => {
      if (!shares || !roomy) {
        const hatched = shares && s.aside && i === 0;
        band(chip.up, null, hatched ? 'aside' : null, s.theme);
        band(chip.down, null, null, s.theme);
        return;
      }
      const { values, n, at } = shares;
      const aside = s.aside && i === 0;
      const up = i <= at ? values[at * n + i] : null;
      const down = i >= at ? values[i * n + at] : null;
      band(chip.up, aside ? null : up, aside ? 'aside' : i > at ? 'later' : null, s.theme);
      band(chip.down, down, i < at ? 'earlier' : null, s.theme);
    });
  }

  /** Chips of a long text have no digits: their shades are drawn on one canvas over all of them. */
  function paintCanvas(s) {
    if (!shares) return shades.clear();
    const { values, n, at } = shares;
    shades.draw(
      chips,
      (i) => (i <= at && !(s.aside && i === 0) ? shareColor(values[at * n + i], s.theme) : null),
      (i) => (i >= at ? shareColor(values[i * n + at], s.theme) : null),
    );
  }

  let bandsFor = '';
  function paint(s) {
    shares = sharesOf(s);
    const pin = pinned(s);
    const roomy = density(chips.length) === 'roomy';
    chips.forEach((chip, i) => {
      setFlag(chip, 'pressed', 'aria-pressed', String(covers(chip, pin)));
      setFlag(chip, 'here', 'data-here', shares && i === shares.at ? '' : null);
      setFlag(chip, 'marked', 'data-marked', covers(chip, s.marked) ? '' : null);
    });
    const plain = `${roomy} ${s.aside && shares !== null} ${chips.length}`;
    if (roomy || plain !== bandsFor) paintBands(s, roomy);
    bandsFor = plain;
    if (roomy) shades.clear();
    else paintCanvas(s);
    // Names of many chips wait until the pointer's own sweep over them rests.
    if (shares) nameChips(chips.length, roomy ? 0 : 120);
    const token = s.run?.tokens[query(s)];
    caption.hidden = !token;
    if (!token) return;
    const { layer, head } = shownHead(s);
    showToken(captionAbove, token);
    showToken(captionBelow, token);
    setText(
      captionEnd,
      ` · ${headName(layer, head)}${
        pin === null
          ? ' · nothing pinned: tap a word'
          : s.hover !== null && s.hover !== pin
            ? ' · preview'
            : ' · pinned: tap again or Esc frees'
      }`,
    );
  }

  store.subscribe((s, before) => {
    const rebuilt = changed(s, before, ['run', 'words', 'running', 'text']);
    if (rebuilt) build(s);
    if (
      rebuilt ||
      s.data.pattern !== before.data.pattern ||
      changed(s, before, ['token', 'hover', 'theme', 'aside', 'marked', 'layer', 'head', 'previewHead'])
    ) {
      paint(s);
      if (s.token !== before.token) rove();
    }
  });
}
