// The back-off between attempts: doubling from half a second to five, with jitter so that many pages do not return at the same
// moment.

/**
 * @param {number} attempt counted from 0
 * @param {() => number} [random]
 * @returns {number} milliseconds
 */
export function delayBefore(attempt, random = Math.random) {
  const ceiling = Math.min(5000, 500 * 2 ** Math.min(attempt, 10));
  return Math.round(ceiling / 2 + (ceiling / 2) * random());
}
