// The dashboard's address after `#`: the panel, what it shows, and its filters. `#/sessions/ID?q=tea` is panel `sessions`, parts
// `["ID"]`, query `q=tea`.

/** @typedef {{panel: string, parts: string[], query: URLSearchParams}} Route */

/** @param {string} hash @returns {Route} */
export function parseRoute(hash) {
  const text = hash.replace(/^#?\/?/, "");
  const cut = text.indexOf("?");
  const path = cut < 0 ? text : text.slice(0, cut);
  const [panel = "", ...parts] = path.split("/").filter(Boolean).map(decoded);
  return { panel, parts, query: new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1)) };
}

/**
 * The inverse of `parseRoute`; empty query values are omitted.
 * @param {string} panel @param {string[]} [parts] @param {Record<string, string | undefined | null>} [query]
 */
export function hrefOf(panel, parts = [], query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value);
  const search = new URLSearchParams(/** @type {[string, string][]} */ (kept)).toString();
  return `#/${[panel, ...parts].map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

/** Whether a query equals these filters. @param {Record<string, string>} filters @param {URLSearchParams} query */
export const isSame = (filters, query) =>
  Object.entries(filters).every(([name, value]) => (query.get(name) ?? "") === value);

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
