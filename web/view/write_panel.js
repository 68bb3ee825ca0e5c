// Owns: writing on token by token, and what the cache kept meanwhile. Touches store and actions only.

import { h, setText, replaceChildren } from './dom.js';
import { scores, bytesPerToken } from '../app/measure_price.js';
import { changed } from '../app/store.js';
import * as format from './format.js';

/** @param {HTMLElement} root @param {any} store @param {import('../app/actions.js').Actions} actions */
export function writePanel(root, store, actions) {
  const number = (id, label, value, attributes) => {
    const input = h('input', { type: 'number', class: 'field short', id, value, ...attributes });
    return [h('label', { class: 'row' }, `${label} `, input), input];
  };
  const [maxLabel, max] = number('write-max', 'tokens', 20, { min: 1, max: 512, step: 1 });
  const [temperatureLabel, temperature] = number('write-temperature', 'temperature', 0, { min: 0, max: 5, step: 0.1 });
  const [seedLabel, seed] = number('write-seed', 'seed', 1, { min: 0, step: 1 });
  const message = h('input', {
    type: 'text',
    class: 'field grow',
    id: 'write-message',
    placeholder: 'Why is the sky blue?',
  });
  const options = (text) => ({
    maxTokens: Math.min(512, Math.max(1, Number(max.value) || 20)),
    temperature: Math.max(0, Number(temperature.value) || 0),
    topP: 1,
    seed: Math.max(0, Math.floor(Number(seed.value) || 0)),
    message: text,
  });
  const go = h('button', {
    type: 'button',
    class: 'button',
    'data-action': 'write',
    text: 'Write on',
    onclick: () => actions.jobs.write(options(null)),
  });
  const stop = h('button', {
    type: 'button',
    class: 'quiet',
    text: 'Stop',
    onclick: () => actions.jobs.cancel('writing'),
  });
  const said = h('p', { class: 'note', 'data-view': 'writing', role: 'status' });
  const facts = h('dl', { class: 'facts', 'data-view': 'cache' });
  root.append(
    h('p', {
      class: 'note',
      text: 'The model continues your text; every token it writes joins the strip above and can be tapped like any other. Temperature 0 takes the first answer each time.',
    }),
    h('div', { class: 'row' }, go, stop, maxLabel, temperatureLabel, seedLabel),
    h(
      'form',
      {
        class: 'row',
        onsubmit: (event) => {
          event.preventDefault();
          if (message.value.trim()) actions.jobs.write(options(message.value));
        },
      },
      h('label', { for: 'write-message', text: 'or ask it' }),
      message,
      h('button', { type: 'submit', class: 'button', text: 'Ask' }),
    ),
    h('p', {
      class: 'note',
      text: 'Asking puts your words into the model’s own chat form, special tokens and system message included; you see all of it in the strip.',
    }),
    said,
    facts,
  );

  function update(s) {
    const w = s.writing;
    go.disabled = !s.info || !s.run || w?.status === 'running';
    stop.hidden = w?.status !== 'running';
    if (!w) {
      setText(said, '');
      return replaceChildren(facts);
    }
    const reason =
      w.finish === 'stop'
        ? 'it ended by itself'
        : w.finish === 'length'
          ? 'as many as asked for'
          : w.status === 'failed'
            ? w.message
            : w.status === 'cancelled'
              ? 'stopped'
              : 'writing…';
    setText(said, `${w.written} token${w.written === 1 ? '' : 's'} written: ${reason}`);
    if (!s.info || w.written === 0) return replaceChildren(facts);
    const n = w.from + w.written;
    const each = bytesPerToken(s.info);
    const mean = w.ms.reduce((a, b) => a + b, 0) / w.ms.length;
    let anew = 0;
    for (let t = w.from + 1; t <= n; t++) anew += scores(t);
    const kept = scores(n);
    const rows = [
      ['kept', `keys and values of ${format.count(n)} tokens: ${format.bytes(each.kv * n)}`],
      ['a token', `${format.duration(mean)} on average, since only its own row is computed`],
      [
        'without',
        `reading all of it again for every new token would have been ${format.count(anew)} scores a head in place of ${format.count(kept)}: ${(anew / kept).toFixed(1)} times as many`,
      ],
    ];
    replaceChildren(facts, ...rows.map(([k, v]) => h('div', {}, h('dt', { text: k }), h('dd', { text: v }))));
  }
  store.subscribe((s, b) => changed(s, b, ['writing', 'info', 'run']) && update(s));
  update(store.state);
}
