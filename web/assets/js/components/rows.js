// The rows of a list that comes in pages.

/** Appends rows that are not there yet. @template [Row=unknown] @param {Row[]} rows @param {Row[]} more @param {(row: Row) => string} key */
export function joined(rows, more, key) {
  const known = new Set(rows.map(key));
  return [...rows, ...more.filter((row) => !known.has(key(row)))];
}
