// The time by the server's clock. Every time that a page shows comes from the server, and a device whose own clock is wrong
// would otherwise call a message of now two hours old. Spans of the page itself are measured by `Date.now()`.

/** A difference below this is the way of the answer and the whole seconds of the header. */
const toleranceMs = 5000;

/** How far the server's clock is ahead of this device's. */
let ahead = 0;

/** The time by the server's clock, in milliseconds. */
export const now = () => Date.now() + ahead;

/** Learns from the `Date` header of an answer that has just arrived. @param {string | null} date @param {number} [here] */
export function learn(date, here = Date.now()) {
  const there = Date.parse(date ?? "");
  if (Number.isNaN(there)) return;
  ahead = Math.abs(there - here) < toleranceMs ? 0 : there - here;
}
