// Owns: what may be written once the frame is painted: names and titles, which are read but not seen. May touch: timers, <html>.

/** A slice of such work stays far below what a tap would feel. */
const SLICE_MS = 6;

/** Where no frame comes, as in a hidden tab, the work is done all the same. */
const AT_LATEST_MS = 250;

/** Calls back once, as soon as the frame that is being made stands on the screen. @param {() => void} work */
export function afterFrame(work) {
  let done = false;
  const once = () => {
    if (done) return;
    done = true;
    clearTimeout(latest);
    work();
  };
  const latest = setTimeout(once, AT_LATEST_MS);
  requestAnimationFrame(() => setTimeout(once));
}

let sweeping = 0;
/** <html> carries data-naming while names are older than what they stand beside. */
function count(by) {
  sweeping += by;
  document.documentElement.toggleAttribute('data-naming', sweeping > 0);
}

/**
 * A walk over many elements in slices, after the frame; starting it again begins from the first.
 * @param {(index: number) => void} each
 * @returns {(end: number, restMs?: number) => void} starts it; with a rest, once nothing has started it anew for so long
 */
export function sweep(each) {
  let next = 0;
  let end = 0;
  let started = 0;
  let under = false;
  function run(mine) {
    if (mine !== started) return;
    const until = performance.now() + SLICE_MS;
    while (next < end && performance.now() < until) each(next++);
    if (next < end) setTimeout(run, 0, mine);
    else {
      under = false;
      count(-1);
    }
  }
  return (total, restMs = 0) => {
    next = 0;
    end = total;
    const mine = ++started;
    if (!under) {
      under = true;
      count(1);
    }
    if (restMs > 0) setTimeout(run, restMs, mine);
    else afterFrame(() => run(mine));
  };
}
