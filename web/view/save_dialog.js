// placeholder until exports are in
import { h } from './dom.js';
export function saveDialog(root) {
  const dialog = h('dialog', { class: 'sheet' });
  root.append(dialog);
  return { open: () => dialog.showModal() };
}
