// The engine's builds are made by scripts/build; the checker need not have them.
declare module '*/lookback.mjs' {
  const create: (options: object) => Promise<any>;
  export default create;
}
declare module '*/lookback.node.mjs' {
  const create: (options: object) => Promise<any>;
  export default create;
}
