import globals from 'globals';

// Mistakes only; prettier owns the look, tsc the types.
const mistakes = {
  'constructor-super': 'error',
  'no-const-assign': 'error',
  'no-constant-condition': ['error', { checkLoops: false }],
  'no-dupe-keys': 'error',
  'no-empty': ['error', { allowEmptyCatch: false }],
  'no-fallthrough': 'error',
  'no-redeclare': 'error',
  'no-self-assign': 'error',
  'no-undef': 'error',
  'no-unreachable': 'error',
  'no-unsafe-finally': 'error',
  'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
  'no-var': 'error',
  'prefer-const': 'error',
  eqeqeq: ['error', 'always', { null: 'ignore' }],
};

// A number on a page is computed, never made up. The by-hand page draws from its own seeded generator.
const noMadeUpNumbers = {
  'no-restricted-properties': [
    'error',
    { object: 'Math', property: 'random', message: 'Pages draw from a seeded generator.' },
  ],
  'no-restricted-syntax': [
    'error',
    {
      selector: 'AssignmentExpression[left.property.name=/^(inner|outer)HTML$/]',
      message: 'Text is data: set textContent, make nodes.',
    },
    { selector: "CallExpression[callee.property.name='insertAdjacentHTML']", message: 'Text is data: make nodes.' },
  ],
};

export default [
  { ignores: ['build/', 'dist/', 'models/', 'node_modules/', 'web/engine/wasm/', 'web/public/', 'web/stored/'] },
  {
    files: ['**/*.js', '**/*.mjs'],
    languageOptions: {
      ecmaVersion: 2024,
      sourceType: 'module',
      globals: { ...globals.nodeBuiltin, ...globals.browser, ...globals.worker },
    },
    rules: mistakes,
  },
  { files: ['web/**/*.js'], rules: noMadeUpNumbers },
];
