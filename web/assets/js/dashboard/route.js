// The address of the dashboard after its `#`: a panel, what is shown in it, and how it is filtered. `#/sessions/ID?q=tea`
// is panel `sessions`, parts `["ID"]`, query `q=tea`.

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
 * The way back: empty values of the query are left out.
 * @param {string} panel @param {string[]} [parts] @param {Record<string, string | undefined | null>} [query]
 */
export function hrefOf(panel, parts = [], query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value);
  const search = new URLSearchParams(/** @type {[string, string][]} */ (kept)).toString();
  return `#/${[panel, ...parts].map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

/** Whether a query asks for what these filters say. @param {Record<string, string>} filters @param {URLSearchParams} query */
export const isSame = (filters, query) => Object.entries(filters).every(([name, value]) => (query.get(name) ?? "") === value);

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
