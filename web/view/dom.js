// Owns: making and changing elements. Text is always set as text, never as markup. May touch: the DOM.

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `class`, `text`, `on…` handlers, properties starting with a dot, the rest as attributes
 * @param {...(Node|string|null|undefined|false|any[])} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') node.textContent = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name.startsWith('.')) node[name.slice(1)] = value;
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  append(node, children);
  return node;
}

/** @param {Node} node @param {any[]} children */
export function append(node, children) {
  for (const child of children.flat())
    if (child !== null && child !== undefined && child !== false)
      node.appendChild(child instanceof Node ? child : document.createTextNode(child));
}

/** Sets text only when it differs, so an unchanged view costs no layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Sets or removes an attribute only when it differs. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const text = value === true ? '' : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** @type {WeakMap<HTMLElement, Record<string, string>>} */
const styles = new WeakMap();

/** Sets a style only when it differs from what was set here before. @param {HTMLElement} node @param {string} name a style property, custom ones too */
export function setStyle(node, name, value) {
  let known = styles.get(node);
  if (!known) styles.set(node, (known = {}));
  if (known[name] === value) return;
  known[name] = value;
  node.style.setProperty(name, value);
}

export function replaceChildren(node, ...children) {
  node.textContent = '';
  append(node, children);
}

/**
 * A list whose items are made once and filled anew: their number changes, the elements stay.
 * @template T
 * @param {Element} list @param {() => T & {item: HTMLElement}} make
 * @returns {(count: number, fill: (parts: T & {item: HTMLElement}, index: number) => void) => void}
 */
export function itemPool(list, make) {
  /** @type {(T & {item: HTMLElement})[]} */
  const pool = [];
  let shown = 0;
  return (count, fill) => {
    for (; shown > count; shown--) pool[shown - 1].item.remove();
    for (; shown < count; shown++) {
      if (!pool[shown]) pool.push(make());
      const before = shown > 0 ? pool[shown - 1].item.nextSibling : list.firstChild;
      list.insertBefore(pool[shown].item, before);
    }
    for (let i = 0; i < count; i++) fill(pool[i], i);
  };
}

/** Long enough that an answer which comes at once dims nothing on its way. */
const DIM_AFTER_MS = 150;

/** Marks a panel whose numbers are older than what is asked, once that has lasted. @param {HTMLElement} root @returns {(yes: boolean) => void} */
export function waitingMark(root) {
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  return (yes) => {
    if (!yes) {
      clearTimeout(timer);
      timer = undefined;
      setAttribute(root, 'data-waiting', null);
    } else timer ??= setTimeout(() => setAttribute(root, 'data-waiting', ''), DIM_AFTER_MS);
  };
}

const SVG = 'http://www.w3.org/2000/svg';
/** @param {string} tag @param {Record<string, any>} [attributes] @param {...Node} children */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') node.textContent = value;
    else node.setAttribute(name, String(value));
  }
  for (const child of children) node.appendChild(child);
  return node;
}

/** Is a fine pointer hovering? Decided by the event itself, never by the kind of machine. @param {PointerEvent} event */
export const hovers = (event) => event.pointerType === 'mouse' || event.pointerType === 'pen';
