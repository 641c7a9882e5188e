// A paged list: loaded rows stay, "show more" requests the next page, and a refresh requests as many rows as are shown, so that
// nothing jumps.

import { button, skeleton } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { texts } from "../texts.js";
import { shell } from "../texts/shell.js";
import { joined } from "./rows.js";
import { errorState, staleNote } from "./state.js";

/** @import { Context } from "../dashboard/context.js" */

/** @import { Path } from "../shared/api.js" */

/** The page that a list wants. @typedef {{limit: number, cursor: string}} Wanted */
/** What the answer of a paged route says about its pages. @typedef {{next_cursor?: string | null, count?: number}} Paged */

/**
 * @template {Paged} [Answer=Paged]
 * @template [Row=unknown]
 * @param {Context} context
 * @param {{path: (wanted: Wanted) => Path<Answer>, rows: (answer: NoInfer<Answer>) => Row[], key: (row: Row) => string,
 *   show: (rows: Row[], answer: NoInfer<Answer>) => Node, empty: (answer: NoInfer<Answer>) => Node, failure: string, page?: number,
 *   most?: number, count?: HTMLElement, request?: (path: Path<Answer>) => Promise<Answer>}} options
 *   `count`: the element for the number of entries; `most`: the largest page that the route returns
 */
export function cursorList(context, { path, rows: read, show, empty, failure, page = 50, most = 500, count, key, request = context.request }) {
  let rows = /** @type {Row[]} */ ([]);
  let next = "";
  let at = 0;
  let asked = 0;
  let isThere = false;
  const aside = make("div", { role: "status" });
  const body = make("div", {}, skeleton(8));
  const more = button({ label: shell.more, look: "button-small", press: () => void loadMore() });
  const foot = make("div", { class: "table-foot", hidden: true }, more);
  const element = make("div", { class: "region", "aria-busy": "true" }, aside, body, foot);
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let planned;

  const take = (/** @type {Answer} */ answer, /** @type {Row[]} */ all) => {
    rows = all;
    next = answer.next_cursor ?? "";
    at = Date.now();
    isThere = true;
    element.setAttribute("aria-busy", "false");
    fill(aside);
    foot.hidden = !next;
    if (count) count.textContent = shell.shownOf(rows.length, Math.max(rows.length, answer.count ?? 0));
    const view = rows.length === 0 ? empty(answer) : show(rows, answer);
    if (body.firstChild !== view || body.childNodes.length > 1) fill(body, view);
  };

  const fail = (/** @type {Error} */ problem) => {
    element.setAttribute("aria-busy", "false");
    if (isThere)
      return fill(
        aside,
        staleNote(problem.message, at, () => void reload()),
      );
    foot.hidden = true;
    const again = button({ label: shell.retry, icon: "retry", look: "button-small", press: () => void reload() });
    fill(body, errorState({ title: failure, text: problem.message || texts.error.server, action: again }));
  };

  /** Reloads the shown rows; with `isNew` the query has changed, so it starts at the first page. */
  const reload = async (isNew = false) => {
    clearTimeout(planned);
    planned = undefined;
    asked += 1;
    const number = asked;
    const limit = isNew ? page : Math.min(most, Math.max(page, rows.length));
    if (isNew) {
      isThere = false;
      element.setAttribute("aria-busy", "true");
    }
    try {
      const answer = await request(path({ limit, cursor: "" }));
      if (number !== asked || context.signal.aborted) return;
      const fresh = read(answer);
      // If the list is longer than one answer can be, its tail is kept.
      const all = joined(fresh, isNew || !answer.next_cursor ? [] : rows.slice(limit), key);
      take(all.length > fresh.length ? { ...answer, next_cursor: next } : answer, all);
    } catch (problem) {
      if (number === asked && !context.signal.aborted) fail(/** @type {Error} */ (problem));
    }
  };

  const loadMore = async () => {
    asked += 1;
    const number = asked;
    more.setAttribute("aria-disabled", "true");
    try {
      const answer = await request(path({ limit: page, cursor: next }));
      if (number === asked && !context.signal.aborted) take(answer, joined(rows, read(answer), key));
    } catch (problem) {
      if (number === asked && !context.signal.aborted) fail(/** @type {Error} */ (problem));
    }
    more.setAttribute("aria-disabled", "false");
  };

  const soon = () => {
    planned ??= setTimeout(() => void reload(), 400);
  };
  context.signal.addEventListener("abort", () => clearTimeout(planned));
  void reload(true);
  return { element, reload, soon, rows: () => rows };
}
