/**
 * contextFloor: the least mean loss, in nats a character, that any predictor can reach on this very text if all it sees is the last k characters
 *
 * It is the conditional entropy of the text's own counts: for each context, the best guess is how often each character followed it. Every character but the
 * first is predicted; one with fewer than k characters before it is left out. Characters are Unicode code points.
 * @param {string} text at least two characters
 * @param {number} k
 * @returns {{floor: number, contexts: number, predictions: number}} contexts: different ones that occur
 */
export function contextFloor(text, k) {
  const characters = Array.from(text);
  /** @type {Map<string, Map<string, number>>} context → what followed it, counted */
  const followers = new Map();
  let predictions = 0;
  for (let i = Math.max(k, 1); i < characters.length; i++) {
    const context = characters.slice(i - k, i).join('');
    const counts = followers.get(context) ?? new Map();
    counts.set(characters[i], (counts.get(characters[i]) ?? 0) + 1);
    followers.set(context, counts);
    predictions++;
  }
  let nats = 0;
  for (const counts of followers.values()) {
    const seen = [...counts.values()].reduce((a, b) => a + b, 0);
    for (const count of counts.values()) nats -= count * Math.log(count / seen);
  }
  return { floor: nats / predictions, contexts: followers.size, predictions };
}
