// Several rows of a table, chosen by boxes, and what can be done with them at once. What is chosen stays chosen while the list is
// refreshed; rows that are gone are not chosen any more.

import { button } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { visibleText } from "../shared/visible.js";
import { selectionWords as words } from "../texts/selection.js";

/** How many can be chosen at once. */
export const MOST = 200;

/**
 * @template [Row=unknown]
 * @param {{key: (row: Row) => string, name: (row: Row) => string, actions: {label: string, icon: string, look?: string,
 *   press: (rows: Row[]) => Promise<Row[]>}[]}} options an action returns the rows that it is done with
 */
export function selection({ key, name, actions }) {
  /** @type {Map<string, Row>} */ const chosen = new Map();
  /** @type {Row[]} */ let rows = [];
  let isBusy = false;
  const count = make("span", { class: "bar-count", role: "status" });
  const all = button({ label: words.all, look: "button-small", press: () => choose(rows.slice(0, MOST)) });
  const none = button({ label: words.none, look: "button-small", press: () => choose([]) });
  const acts = actions.map(({ label, icon, look = "", press }) =>
    button({ label, icon, look: `button-small ${look}`, press: () => void act(press) }),
  );
  const bar = make(
    "div",
    { class: "bar selection-bar", hidden: true, role: "group", "aria-label": words.bar },
    count,
    ...acts,
    all,
    none,
  );

  const act = async (/** @type {(rows: Row[]) => Promise<Row[]>} */ press) => {
    if (isBusy) return;
    isBusy = true;
    draw();
    try {
      for (const row of await press([...chosen.values()])) chosen.delete(key(row));
    } finally {
      isBusy = false;
      mark();
    }
  };
  const choose = (/** @type {Row[]} */ wanted) => {
    chosen.clear();
    for (const row of wanted) chosen.set(key(row), row);
    mark();
  };
  const draw = () => {
    const hadFocus = bar.contains(document.activeElement);
    bar.hidden = chosen.size === 0;
    count.textContent = words.count(chosen.size);
    all.hidden = chosen.size >= Math.min(rows.length, MOST);
    for (const act of acts) act.setAttribute("aria-disabled", String(isBusy));
    if (hadFocus && bar.hidden)
      /** @type {HTMLElement | null} */ (bar.parentElement?.querySelector(".data-table .row-link"))?.focus();
  };
  const mark = () => {
    for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("input[data-pick]")))
      box.checked = chosen.has(box.dataset.pick ?? "");
    draw();
  };

  /** @type {import("./table.js").Column<Row>} */
  const column = {
    id: "pick",
    title: words.column,
    width: "w-pick",
    isSpoken: true,
    isWide: true,
    cell: (row) => {
      const id = key(row);
      const box = make("input", {
        type: "checkbox",
        class: "pick",
        checked: chosen.has(id),
        "aria-label": words.choose(visibleText(name(row))),
        data: { pick: id },
      });
      box.addEventListener("change", () => {
        if (!box.checked) chosen.delete(id);
        else if (chosen.size < MOST) chosen.set(id, rows.find((other) => key(other) === id) ?? row);
        else box.checked = false;
        draw();
      });
      return make("label", { class: "pick-target" }, box);
    },
  };
  return {
    bar,
    column,
    /** The rows that are listed now. @param {Row[]} next */
    keep: (next) => {
      rows = next;
      const there = new Map(rows.map((row) => [key(row), row]));
      for (const id of [...chosen.keys()]) {
        const row = there.get(id);
        if (row) chosen.set(id, row);
        else chosen.delete(id);
      }
      draw();
    },
  };
}

/**
 * Does something with one after the other. Returns those with which it worked, and the first problem.
 * @template [Row=unknown]
 * @param {Row[]} rows @param {(row: Row) => Promise<unknown>} each
 */
export async function oneByOne(rows, each) {
  /** @type {Row[]} */ const done = [];
  /** @type {Error | null} */ let problem = null;
  for (const row of rows) {
    try {
      await each(row);
      done.push(row);
    } catch (fault) {
      problem ??= /** @type {Error} */ (fault);
    }
  }
  return { done, problem };
}
