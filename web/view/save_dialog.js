// Owns: copying and saving: picture, row, head, everything. Touches store and actions only.

import { h, setText } from './dom.js';
import { picture, toSvg, toPng, MOST_PICTURE } from './picture.js';
import { rowCsv, headJson, headNpz, everything, fileStem, MOST_EVERYTHING } from '../app/export_data.js';
import { headName, shownHead, query } from '../app/selectors.js';
import { shownToken } from './visible_text.js';
import * as format from './format.js';

/** @param {Blob} blob @param {string} name */
function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = h('a', { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions @returns {{open: () => void}} */
export function saveDialog(root, store, actions) {
  const about = h('p', { class: 'note' });
  const said = h('p', { class: 'note', role: 'status' });
  /** @type {AbortController|null} */
  let working = null;
  const stop = h('button', {
    type: 'button',
    class: 'quiet',
    text: 'Cancel',
    hidden: true,
    onclick: () => working?.abort(new Error('stopped')),
  });

  const blobOf = { svg: 'image/svg+xml', csv: 'text/csv', json: 'application/json' };
  /** Makes one thing and saves or copies it, and says how that went. */
  async function make(form, what, to) {
    const s = store.state;
    const passes = actions.passes();
    if (!s.run || !passes) return setText(said, 'There is nothing to save yet.');
    working = new AbortController();
    stop.hidden = what !== 'all';
    try {
      let content;
      if (what === 'picture') {
        const drawn = picture(s);
        if (!drawn)
          throw new Error(
            s.run.tokens.length > MOST_PICTURE
              ? `a picture shows up to ${MOST_PICTURE} tokens; this text has ${s.run.tokens.length}`
              : 'the pattern is not there yet',
          );
        content = form === 'svg' ? toSvg(drawn) : await toPng(drawn);
      } else if (what === 'row') content = await rowCsv(s, location.href, passes);
      else if (what === 'head') content = await (form === 'json' ? headJson : headNpz)(s, location.href, passes);
      else {
        if (s.run.tokens.length > MOST_EVERYTHING[form])
          throw new Error(
            `all heads fit into ${form.toUpperCase()} up to ${MOST_EVERYTHING[form]} tokens; this text has ${s.run.tokens.length}. Single heads can always be saved`,
          );
        content = await everything(s, location.href, passes, form, {
          signal: working.signal,
          onProgress: (done, total) => setText(said, `${done} of ${total} heads`),
        });
      }
      if (to === 'clipboard') {
        if (typeof content === 'string') await navigator.clipboard.writeText(content);
        else await navigator.clipboard.write([new ClipboardItem({ [content.type]: content })]);
        setText(said, 'Copied.');
      } else {
        const name = `${what === 'all' ? 'lookback-all-heads' : fileStem(s)}.${form}`;
        saveFile(typeof content === 'string' ? new Blob([content], { type: blobOf[form] }) : content, name);
        setText(said, `Saved as ${name}.`);
      }
    } catch (/** @type {any} */ error) {
      setText(said, `Not ${to === 'clipboard' ? 'copied' : 'saved'}: ${error.message}.`);
    } finally {
      working = null;
      stop.hidden = true;
    }
  }

  const button = (label, form, what, to) =>
    h('button', {
      type: 'button',
      class: 'button',
      'data-save': `${what}.${form}${to === 'clipboard' ? '.copy' : ''}`,
      text: label,
      onclick: () => make(form, what, to),
    });
  const group = (title, note, ...buttons) =>
    h(
      'div',
      { class: 'stack tight' },
      h('h3', { text: title }),
      h('p', { class: 'note', text: note }),
      h('div', { class: 'row' }, ...buttons),
    );
  const dialog = /** @type {HTMLDialogElement} */ (
    h(
      'dialog',
      { class: 'sheet', 'aria-labelledby': 'save-title' },
      h(
        'div',
        { class: 'row' },
        h('h2', { id: 'save-title', text: 'Copy or save' }),
        h('button', { type: 'button', class: 'button push', text: 'Close', onclick: () => dialog.close() }),
      ),
      about,
      group(
        'Picture',
        'The head’s pattern and the word’s row.',
        button('Save SVG', 'svg', 'picture'),
        button('Save PNG', 'png', 'picture'),
        button('Copy PNG', 'png', 'picture', 'clipboard'),
      ),
      group(
        'This row',
        'The table’s numbers, unrounded.',
        button('Save CSV', 'csv', 'row'),
        button('Copy CSV', 'csv', 'row', 'clipboard'),
      ),
      group(
        'This head',
        'All rows of the head.',
        button('Save JSON', 'json', 'head'),
        button('Copy JSON', 'json', 'head', 'clipboard'),
        button('Save NPZ', 'npz', 'head'),
      ),
      group(
        'Everything',
        'Shares of all heads, next tokens and statistics.',
        button('Save JSON', 'json', 'all'),
        button('Save NPZ', 'npz', 'all'),
      ),
      h('div', { class: 'row' }, said, stop),
    )
  );
  root.append(dialog);

  return {
    open() {
      const s = store.state;
      const { layer, head } = shownHead(s);
      const token = s.run?.tokens[query(s)];
      setText(
        about,
        s.run
          ? `${headName(layer, head)}; ${token ? shownToken(token) : ''} (token ${query(s)}); ${format.count(s.run.tokens.length)} tokens. Every file names the weights, their SHA-256 and the settings.`
          : '',
      );
      setText(said, '');
      dialog.showModal();
    },
  };
}
