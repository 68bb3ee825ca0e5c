import { defineConfig } from 'vite';

// Two pages, one bundle graph. Relative addresses, so that the site works under any path; nothing is inlined as a data:
// address, so that a strict Content-Security-Policy holds.
export default defineConfig({
  root: 'web',
  base: './',
  publicDir: 'public',
  worker: { format: 'es' },
  build: {
    outDir: '../dist/site',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rollupOptions: { input: ['web/index.html', 'web/by-hand.html'] },
  },
});
