// The pages after the first one of a list whose first page a region keeps up to date: "show more" adds the next, and what was added
// stays when the first page comes anew.

import { button } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { toast } from "../shared/toast.js";
import { shell } from "../texts/shell.js";
import { joined } from "./rows.js";

/** @import { Context } from "../dashboard/context.js" */
/** @import { Path } from "../shared/api.js" */
/** @import { Paged } from "./cursor-list.js" */

/**
 * The newest page, and behind it what was known behind its last row. What is not in the page any more, but was in its range, is gone.
 * @template [Row=unknown]
 * @param {Row[]} page @param {Row[]} before the list as it was @param {(row: Row) => string} key
 */
export function withTail(page, before, key) {
  const last = page.at(-1);
  if (last === undefined) return page;
  const at = before.findLastIndex((row) => key(row) === key(last));
  return joined(page, before.slice(at + 1), key);
}

/**
 * @template {Paged} [Answer=Paged]
 * @template [Row=unknown]
 * @param {Pick<Context, "request" | "signal">} context
 * @param {{path: (cursor: string) => Path<Answer>, rows: (answer: NoInfer<Answer>) => Row[], key: (row: Row) => string, shown: () => void,
 *   isLasting?: boolean}} options `shown` is called when there are other rows; `isLasting`: a row stays as it is, so that what was
 *   added is not asked for again
 */
export function further(context, { path, rows: read, key, shown, isLasting = false }) {
  /** @type {Row[]} */ let first = [];
  /** @type {Row[]} */ let all = [];
  /** Where the second page begins. @type {string | null} */ let second = null;
  /** Where the next page begins; null if there is none. @type {string | null} */ let next = null;
  /** How many pages were added. */ let pages = 0;
  let asked = 0;
  let isBusy = false;
  const more = button({ label: shell.more, look: "button-small", press: () => void load() });
  const element = make("div", { class: "table-foot", hidden: true }, more);
  const settle = (/** @type {Row[]} */ rows, /** @type {string | null | undefined} */ cursor) => {
    all = rows;
    next = cursor ?? null;
    element.hidden = next === null;
  };

  const append = async () => {
    const answer = await context.request(path(next ?? ""));
    if (context.signal.aborted) return;
    settle(joined(all, read(answer), key), answer.next_cursor);
    shown();
  };
  /** Asks for the added pages again, because their rows may have changed. */
  const renew = async () => {
    asked += 1;
    const number = asked;
    /** @type {Row[]} */ let found = [];
    let cursor = second;
    for (let page = 0; page < pages && cursor !== null; page += 1) {
      const answer = await context.request(path(cursor));
      if (number !== asked || context.signal.aborted) return;
      found = [...found, ...read(answer)];
      cursor = answer.next_cursor ?? null;
    }
    settle(joined(first, found, key), cursor);
    shown();
  };
  const load = async () => {
    if (isBusy) return;
    isBusy = true;
    more.setAttribute("aria-disabled", "true");
    pages += 1;
    try {
      await (isLasting ? append() : renew());
    } catch (problem) {
      pages -= 1;
      if (!context.signal.aborted) toast(shell.actionFailed(/** @type {Error} */ (problem).message));
    }
    isBusy = false;
    more.setAttribute("aria-disabled", "false");
  };

  return {
    element,
    /**
     * Takes the first page as it is now; returns all rows.
     * @param {Row[]} page @param {string | null | undefined} cursor where the next one begins
     */
    take: (page, cursor) => {
      first = page;
      second = cursor ?? null;
      if (pages === 0) settle(page, second);
      else {
        const last = page.at(-1);
        // More has come than the page has room for, so there is a gap behind it.
        const isGap = last !== undefined && !all.some((row) => key(row) === key(last));
        settle(withTail(page, all, key), next);
        // What fails now is asked for again with the next first page.
        if (!isLasting || isGap) void renew().catch(() => undefined);
      }
      return all;
    },
    rows: () => all,
  };
}
