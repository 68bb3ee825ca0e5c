/**
 * The inputs of a figure. Each field is {element, value, reset}: a node to place, a getter for the last good value, and a way back to the article's. A wrong
 * entry is marked and explained beside the field, and the figure keeps its last good value.
 * @typedef {{element: HTMLElement, value: () => any, reset: () => void}} Field
 */
import { h } from '../view/dom.js';
import { plain } from './format.js';

let ids = 0;

/** A fresh id, to tie a label to its input. */
function freshId() {
  ids += 1;
  return `by-hand-${ids}`;
}

/**
 * entryField: a labelled input whose text is read by `read`, which returns the value or throws a sentence
 * @param {{label: string, initial: string, read: (text: string) => any, onChange: () => void, hideLabel?: boolean, input: HTMLInputElement | HTMLTextAreaElement, note?: string}} options
 * @returns {Field}
 */
function entryField({ label, initial, read, onChange, hideLabel = false, input, note }) {
  const id = freshId();
  const problem = h('p', { class: 'problem', id: `${id}-problem`, role: 'alert', hidden: true });
  let value = read(initial);
  input.id = id;
  input.value = initial;
  if (hideLabel) input.setAttribute('aria-label', label);
  const take = () => {
    try {
      value = read(input.value);
      problem.hidden = true;
      input.removeAttribute('aria-invalid');
      input.removeAttribute('aria-describedby');
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
      problem.hidden = false;
      input.setAttribute('aria-invalid', 'true');
      input.setAttribute('aria-describedby', problem.id);
      return;
    }
    onChange();
  };
  input.addEventListener('input', take);
  return {
    element: h(
      'div',
      { class: 'entry' },
      hideLabel ? null : h('label', { for: id, text: label }),
      input,
      note ? h('p', { class: 'note', text: note }) : null,
      problem,
    ),
    value: () => value,
    reset: () => {
      input.value = initial;
      take();
    },
  };
}

/**
 * numberField: a number within limits
 * @param {{label: string, initial: number, min?: number, max?: number, whole?: boolean, onChange: () => void, hideLabel?: boolean}} options
 * @returns {Field}
 */
export function numberField({ label, initial, min = -100, max = 100, whole = false, onChange, hideLabel }) {
  const read = (text) => {
    const x = Number(text);
    if (text.trim() === '' || !Number.isFinite(x)) throw new Error('A number, please.');
    if (whole && !Number.isInteger(x)) throw new Error('A whole number, please.');
    if (x < min || x > max) throw new Error(`Between ${plain(min)} and ${plain(max)}, please.`);
    return x;
  };
  const input = h('input', {
    type: 'number',
    class: 'field number',
    inputmode: whole && min >= 0 ? 'numeric' : 'decimal',
    step: whole ? 1 : 'any',
    min,
    max,
    autocomplete: 'off',
  });
  return entryField({ label, initial: String(initial), read, onChange, hideLabel, input });
}

/**
 * sentenceField: words of a small vocabulary
 * @param {{label: string, initial: string, vocab: readonly string[], min: number, max: number, onChange: () => void}} options
 * @returns {Field} value(): string[]
 */
export function sentenceField({ label, initial, vocab, min, max, onChange }) {
  const read = (text) => {
    const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const unknown = words.find((word) => !vocab.includes(word));
    if (unknown !== undefined) throw new Error(`“${unknown}” is not among its words: ${vocab.join(', ')}.`);
    if (words.length < min || words.length > max) throw new Error(`${min} to ${max} words, please.`);
    return words;
  };
  const input = h('input', {
    type: 'text',
    class: 'field',
    spellcheck: 'false',
    autocomplete: 'off',
    autocapitalize: 'off',
  });
  return entryField({ label, initial, read, onChange, input });
}

/**
 * textField: any text of at least two characters
 * @param {{label: string, initial: string, maxLength: number, onChange: () => void}} options
 * @returns {Field}
 */
export function textField({ label, initial, maxLength, onChange }) {
  const read = (text) => {
    if (Array.from(text).length < 2) throw new Error('At least two characters, please.');
    return text;
  };
  const input = h('textarea', { class: 'field', rows: 4, maxlength: maxLength, spellcheck: 'false' });
  return entryField({ label, initial, read, onChange, input });
}

/**
 * rangeField: a slider that prints its value
 * @param {{label: string, initial: number, min: number, max: number, step: number, onChange: () => void, print?: (x: number) => string}} options
 * @returns {Field}
 */
export function rangeField({ label, initial, min, max, step, onChange, print = plain }) {
  const id = freshId();
  const input = h('input', { type: 'range', id, min, max, step });
  const output = h('output', { for: id, class: 'number' });
  input.value = String(initial);
  const show = () => {
    output.textContent = print(Number(input.value));
    input.setAttribute('aria-valuetext', output.textContent);
  };
  show();
  input.addEventListener('input', () => {
    show();
    onChange();
  });
  return {
    element: h(
      'div',
      { class: 'entry range' },
      h('label', { for: id, text: label }),
      h('div', { class: 'slide' }, input, output),
    ),
    value: () => Number(input.value),
    reset: () => {
      input.value = String(initial);
      show();
      onChange();
    },
  };
}

/**
 * switchField: on or off
 * @param {{label: string, initial: boolean, onChange: () => void}} options
 * @returns {Field}
 */
export function switchField({ label, initial, onChange }) {
  const input = h('input', { type: 'checkbox', onchange: () => onChange() });
  input.checked = initial;
  return {
    element: h('label', { class: 'switch' }, input, h('span', { text: label })),
    value: () => input.checked,
    reset: () => {
      input.checked = initial;
      onChange();
    },
  };
}

/**
 * choiceField: one of a list
 * @param {{label: string, initial: string, choices: readonly string[], onChange: () => void}} options
 * @returns {Field}
 */
export function choiceField({ label, initial, choices, onChange }) {
  const id = freshId();
  const select = h(
    'select',
    { id, class: 'field', onchange: () => onChange() },
    choices.map((choice) => h('option', { value: choice, text: choice })),
  );
  select.value = initial;
  return {
    element: h('div', { class: 'entry' }, h('label', { for: id, text: label }), select),
    value: () => select.value,
    reset: () => {
      select.value = initial;
      onChange();
    },
  };
}

/**
 * controls: fields in a row, and the way back
 * @param {Field[]} fields
 * @param {Field[]} [others] placed elsewhere in the figure, reset with these
 * @returns {HTMLElement}
 */
export function controls(fields, others = []) {
  const reset = h('button', {
    type: 'button',
    class: 'quiet',
    text: 'Back to the first numbers',
    'data-action': 'reset',
    onclick: () => [...fields, ...others].forEach((field) => field.reset()),
  });
  return h(
    'div',
    { class: 'controls' },
    fields.map((field) => field.element),
    reset,
  );
}
