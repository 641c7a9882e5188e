// The context of a panel: the data, the address, the place for its tools, and a signal that is aborted with it.

import { Problem, exchange } from "../shared/api.js";
import { make } from "../shared/dom.js";
import { signInAgain } from "./denied.js";
import { hrefOf } from "./route.js";

/** @import { Store } from "./store.js" */
/** @import { Route } from "./route.js" */
/** @import { Options, Path } from "../shared/api.js" */
/** @import { Exchange } from "../shared/shared-item.js" */

/**
 * @typedef {object} Context
 * @property {string} panel the id of the panel
 * @property {string[]} parts what follows the panel in the address
 * @property {URLSearchParams} query
 * @property {Store} store API answers by path, shared by the panels
 * @property {HTMLElement} tools the place for filters and buttons next to the title
 * @property {AbortSignal} signal aborted when the panel is removed
 * @property {() => boolean} isLive whether the connection is up
 * @property {(parts?: string[], query?: Record<string, string | undefined | null>) => void} go opens another view of this panel
 * @property {(parts: string[], query: Record<string, string | undefined | null>) => void} note the same without a history entry
 *   and without a call of `route`: for filters
 * @property {(text: string, back?: string) => void} title sets the title, and the address of the back link if there is one
 * @property {<Answer = unknown>(path: Path<Answer>, options?: Options) => Promise<NoInfer<Answer>>} request calls the API; when signed out, the
 *   page shows the token prompt
 * @property {Exchange} exchange the same, with the version of the answer
 * @property {(text: string) => void} announce announces to screen readers
 */

/**
 * @param {{route: Route, store: Store, frame: import("./frame.js").Frame, isLive: () => boolean, signal: AbortSignal}} parts
 * @returns {Context}
 */
export function contextOf({ route, store, frame, isLive, signal }) {
  const { panel } = route;
  return {
    panel,
    parts: route.parts,
    query: route.query,
    store,
    tools: frame.tools,
    signal,
    isLive,
    go: (parts, query) => {
      location.hash = hrefOf(panel, parts, query);
    },
    note: (parts, query) => {
      if (!signal.aborted) history.replaceState(history.state, "", hrefOf(panel, parts, query));
    },
    title: (text, back) => !signal.aborted && frame.setTitle(text, back),
    request: (path, options) => guarded(path, options),
    exchange: (path, options) => guardedExchange(path, options),
    announce: frame.announce,
  };
}

/** @template [Answer=unknown] @param {Path<Answer>} path @param {Options} [options] @returns {Promise<NoInfer<Answer>>} */
export const guarded = async (path, options) => (await guardedExchange(path, options)).data;

/** @template [Answer=unknown] @param {Path<Answer>} path @param {Options} [options] @returns {Promise<{data: NoInfer<Answer>, etag: string}>} */
async function guardedExchange(path, options) {
  try {
    return await exchange(path, options);
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.status !== 401) throw problem;
    await signInAgain();
    return await exchange(path, options);
  }
}

/** Loads a stylesheet once; resolves when it applies. @param {string} href */
export function loadStyles(href) {
  if (document.querySelector(`link[rel="stylesheet"][href="${CSS.escape(href)}"]`) || loaded.has(href))
    return loaded.get(href) ?? Promise.resolve();
  const coming = new Promise((resolve) => {
    const link = make("link", {
      rel: "stylesheet",
      href,
      on: { load: () => resolve(undefined), error: () => resolve(undefined) },
    });
    document.head.append(link);
  });
  loaded.set(href, coming);
  return coming;
}

/** @type {Map<string, Promise<undefined>>} */
const loaded = new Map();
