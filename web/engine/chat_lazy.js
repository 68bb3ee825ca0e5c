// Chat's template library comes with the first chat, not with the page.

/** @type {(...args: Parameters<typeof import('./chat.js').renderChat>) => Promise<string>} */
export const renderChat = async (...args) => (await import('./chat.js')).renderChat(...args);
