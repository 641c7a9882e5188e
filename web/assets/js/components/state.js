// Placeholders where there is nothing to show: empty (what this is, how to fill it), an error (what happened, what to do), not
// found. And a region that moves through these states by itself as its data arrives.

import { button, note, skeleton } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { icon as drawIcon } from "../shared/icons.js";
import { sentence } from "../shared/sentence.js";
import { ago } from "../shared/time.js";
import { texts } from "../texts.js";
import { shell } from "../texts/shell.js";

/** @import { Context } from "../dashboard/context.js" */

const patienceMs = 2500;

/**
 * @param {{title: string, text?: string, icon?: string, action?: Node | false, tone?: "bad" | ""}} options
 */
export function state({ title, text = "", icon = "info", action, tone = "" }) {
  return make(
    "div",
    { class: "blank", data: tone ? { tone } : {} },
    make("span", { class: "blank-icon" }, drawIcon(icon)),
    make("h2", { class: "blank-title" }, title),
    text && make("p", { class: "blank-text" }, ...sentence(text)),
    action && make("div", { class: "blank-action" }, action),
  );
}

/** @param {{title: string, text: string, action?: Node}} options */
export const errorState = (options) => state({ ...options, icon: "alert", tone: "bad" });

/** @import { Path } from "../shared/api.js" */

/**
 * A region that shows the answer of one API path and keeps it up to date. `show` returns the same element each time or a new one;
 * if it stays the same, it keeps focus, selection and scroll position.
 * @template [Answer=unknown]
 * @param {Context} context
 * @param {{path: Path<Answer>, failure: string, show: (value: NoInfer<Answer>) => Node, lines?: number, optional?: boolean, class?:
 *   string}} options `optional`: if this
 *   build lacks the route, the region stays empty
 */
export function region(context, { path, failure, show, lines = 5, optional = false, class: extra = "" }) {
  const body = make("div", {}, skeleton(lines));
  const aside = make("div", { role: "status" });
  const element = make("div", { class: `region ${extra}`.trim(), "aria-busy": "true" }, aside, body);
  let seen = /** @type {Answer | undefined} */ (undefined);
  const reload = () => context.store.load(path);
  const draw = () => {
    const held = context.store.get(path);
    if (!held) return;
    element.setAttribute("aria-busy", "false");
    if (held.value !== undefined) {
      fill(aside, held.problem && staleNote(held.problem.message, held.at, reload));
      if (held.value === seen) return;
      seen = held.value;
      put(body, show(held.value));
      return;
    }
    if (optional && held.problem?.status === 404) {
      element.hidden = true;
      return;
    }
    seen = undefined;
    const again = button({ label: shell.retry, icon: "retry", look: "button-small", press: () => void reload() });
    put(body, errorState({ title: failure, text: held.problem?.message ?? texts.error.server, action: again }));
  };
  context.store.watch(path, draw, context.signal);
  draw();
  void reload();
  return { element, reload, soon: () => context.store.soon(path), value: () => context.store.get(path)?.value };
}

/**
 * Shows several regions together once all have their answers, so that none moves when the one above it grows; after a moment it
 * stops waiting.
 * @param {Context} context @param {string[]} paths @param {HTMLElement} root @param {HTMLElement} whole
 */
export function together(context, paths, root, whole) {
  const show = () => {
    clearTimeout(patience);
    if (!context.signal.aborted && !whole.isConnected) fill(root, whole);
  };
  const showIfAll = () => paths.every((path) => context.store.get(path)) && show();
  const patience = setTimeout(show, patienceMs);
  fill(root, skeleton(10));
  context.store.addEventListener("change", showIfAll, { signal: context.signal });
  showIfAll();
}

/** Keeps the height of a line of buttons for those that need the server's answer. @param {Context} context */
export const keepToolsPlace = ({ tools }) => fill(tools, make("span", { class: "button tools-place", "aria-hidden": "true" }));

/** @param {Element} host @param {Node} node */
function put(host, node) {
  if (host.firstChild !== node || host.childNodes.length > 1) fill(host, node);
}

/** A note that the data shown is stale. @param {string} why @param {number} at @param {() => void} retry */
export function staleNote(why, at, retry) {
  const again = make("div", {}, button({ label: shell.retry, icon: "retry", look: "button-small", press: retry }));
  return note({
    text: `${shell.refreshFailed(why)} ${shell.staleSince(ago(at, Date.now()))}`,
    tone: "warn",
    icon: "alert",
    action: again,
  });
}
