// Table arithmetic: sorting, and which rows are visible.

import { locale } from "../shared/language.js";
import { once } from "../shared/once.js";

/**
 * Returns a sorted copy. Rows without a value come last in both directions; equal rows keep their order.
 * @template [Row=unknown]
 * @param {Row[]} rows @param {(row: Row) => string | number | null | undefined} by @param {boolean} isDescending
 */
export function sorted(rows, by, isDescending) {
  const none = (/** @type {unknown} */ value) => value === null || value === undefined || value === "";
  const valued = rows.map((row) => ({ row, value: by(row) }));
  const sign = isDescending ? -1 : 1;
  valued.sort((one, other) => {
    if (none(one.value) || none(other.value)) return Number(none(one.value)) - Number(none(other.value));
    if (typeof one.value === "number" && typeof other.value === "number") return sign * (one.value - other.value);
    return sign * collator().compare(String(one.value), String(other.value));
  });
  return valued.map(({ row }) => row);
}

const collator = once(() => new Intl.Collator(locale, { numeric: true, sensitivity: "base" }));

/**
 * The visible rows, with a margin.
 * @param {number} count @param {number} top the scroll position @param {number} view the visible height
 * @param {number} row the height of a row @param {number} margin in rows
 */
export function windowOf(count, top, view, row, margin) {
  const first = Math.floor(top / row);
  const seen = Math.ceil(view / row);
  const from = Math.max(0, Math.min(first - margin, count - seen - margin));
  return { from, to: Math.min(count, first + seen + margin) };
}
