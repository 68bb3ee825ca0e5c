/** Light or dark: as the reader chose, else as the system prefers. The choice is kept, for both pages under one name. */

const KEY = 'lookback-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

/** @returns {'light' | 'dark'} */
export function theme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === 'light' || chosen === 'dark' ? chosen : dark.matches ? 'dark' : 'light';
}

/**
 * onTheme: called after each change
 * @param {() => void} changed
 */
export function onTheme(changed) {
  dark.addEventListener('change', changed);
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ['data-theme'] });
}

/**
 * themeButton: takes up the kept choice, and changes it when pressed
 * @param {HTMLButtonElement} button
 */
export function themeButton(button) {
  const kept = read();
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
  const show = () => button.setAttribute('aria-pressed', String(theme() === 'dark'));
  button.addEventListener('click', () => {
    const next = theme() === 'dark' ? 'light' : 'dark';
    document.documentElement.dataset.theme = next;
    write(next);
  });
  onTheme(show);
  show();
}

// Storage may be refused (private windows); the choice then lasts for this visit.
function read() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
function write(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Not kept.
  }
}
