// Owns: which of the two themes is on: the reader's choice, else what the system prefers. Touches store and the root element.

const KEY = 'lookback-theme';

// Storage may be refused (private windows); the choice then lasts for this visit.
function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
function remember(choice) {
  try {
    if (choice) localStorage.setItem(KEY, choice);
    else localStorage.removeItem(KEY);
  } catch {
    // Not kept.
  }
}

/** @param {{state: any, set: (patch: any) => void, subscribe: (f: (s: any, before: any) => void) => any}} store */
export function followTheme(store) {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => {
    const choice = store.state.themeChoice;
    if (choice) document.documentElement.dataset.theme = choice;
    else delete document.documentElement.dataset.theme;
    store.set({ theme: choice ?? (dark.matches ? 'dark' : 'light') });
  };
  const before = stored();
  store.set({ themeChoice: before === 'dark' || before === 'light' ? before : null });
  dark.addEventListener('change', apply);
  store.subscribe((s, old) => {
    if (s.themeChoice === old.themeChoice) return;
    remember(s.themeChoice);
    apply();
  });
  apply();
}
