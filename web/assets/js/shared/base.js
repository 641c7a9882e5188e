// The path below which a proxy offers the service (`server.base_path`), read from the address of this script, because the server
// names it there. Every address of the service that a page asks or links goes through `at` or `socketAt`.

const own = new URL(import.meta.url).pathname;

/** Empty if the service has the host for itself, as it does in tests without a page. */
const base = own.includes("/dashboard/static/") ? own.split("/dashboard/static/")[0] : "";

/** The address of a path of the service, such as `/api/status`. @param {string} path */
export const at = (path) => `${base}${path}`;

/** The same for a WebSocket. @param {string} path */
export const socketAt = (path) => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${at(path)}`;
