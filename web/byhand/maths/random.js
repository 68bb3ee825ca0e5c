/**
 * Seeded random numbers: the same seed gives the same draws in every browser, so a figure can be shown to someone else.
 * The page never calls the platform's own generator, which cannot be seeded.
 */

/**
 * uniform: numbers in [0, 1) from a 32-bit seed
 * Source: sfc32 of PractRand (Chris Doty-Humphrey, public domain); 53 bits are taken from two outputs.
 * @param {number} seed
 * @returns {() => number}
 */
export function uniform(seed) {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = seed | 0;
  let counter = 1;
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  // The first outputs still resemble the seed.
  for (let i = 0; i < 15; i++) next();
  return () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
}

/**
 * normal: numbers with mean 0 and spread 1
 * Source: Marsaglia & Bray 1964, the polar method; each accepted pair gives two numbers.
 * @param {number} seed
 * @returns {() => number}
 */
export function normal(seed) {
  const random = uniform(seed);
  let spare = NaN;
  return () => {
    if (!Number.isNaN(spare)) {
      const kept = spare;
      spare = NaN;
      return kept;
    }
    for (;;) {
      const x = 2 * random() - 1;
      const y = 2 * random() - 1;
      const r = x * x + y * y;
      if (r > 0 && r < 1) {
        const factor = Math.sqrt((-2 * Math.log(r)) / r);
        spare = y * factor;
        return x * factor;
      }
    }
  };
}
