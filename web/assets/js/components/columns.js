// Which columns of a table fit. Each width class has its pixels here as well as in the style sheets, because what a table can show
// depends on their sum: a narrower table gives up columns by rank, so that the main one keeps its minimum.

/** @typedef {{width?: string, isWide?: boolean, isSpoken?: boolean, rank?: number}} Sized */

/** The widths of the classes. @type {Record<string, number>} */
const WIDTHS = {
  "w-pick": 48,
  "w-xs": 72,
  "w-s": 144,
  "w-m": 168,
  "w-l": 240,
  "w-time": 124,
  "w-outcome": 164,
  "w-cost": 92,
  "w-kind": 120,
  "w-state": 176,
};
/** What a column without a width needs to be of use. */
export const MAIN = 216;
/** The style sheet has one rule for each step up to the last. */
const STEP = 40;
const LAST = 1400;

/** The main column: the first that takes the space that is left, or else the first. @param {Sized[]} columns */
export const mainOf = (columns) =>
  Math.max(
    0,
    columns.findIndex(({ width, isWide }) => !width && !isWide),
  );

/**
 * For each column the width of the table below which it is left out, 0 for those that always stay: the main one and the actions. Rank 1
 * leaves last. By default a column that phones show has rank 2, any other 3; of equals the last leaves first.
 * @param {Sized[]} columns
 */
export function leaving(columns) {
  const main = mainOf(columns);
  const stays = (/** @type {number} */ at) => at === main || Boolean(columns[at].isSpoken);
  const need = (/** @type {number} */ at) => Math.max(WIDTHS[columns[at].width ?? ""] ?? MAIN, at === main ? MAIN : 0);
  const rank = (/** @type {number} */ at) => columns[at].rank ?? (columns[at].isWide ? 3 : 2);
  const all = columns.map((_, at) => at);
  let sum = all.filter(stays).reduce((total, at) => total + need(at), 0);
  const from = all.map(() => 0);
  const optional = all.filter((at) => !stays(at)).sort((one, other) => rank(one) - rank(other) || one - other);
  for (const at of optional) {
    sum += need(at);
    from[at] = Math.min(LAST, Math.ceil(sum / STEP) * STEP);
  }
  return from;
}
