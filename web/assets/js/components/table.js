// A sortable table. It sorts the rows that it has; where the service has more, it asks for them in the wanted order. If it is long, only the visible rows are in the page, so that 10,000 rows cost as much as 40. Unchanged rows
// keep their elements, so that focus and selection survive new data. A narrow table leaves out columns by rank, and where it is as
// narrow as a phone a row is a card.

import { arrange, make, refill } from "../shared/dom.js";
import { shell } from "../texts/shell.js";
import { leaving, mainOf } from "./columns.js";
import { sorted, windowOf } from "./table-math.js";

/** @import { Child } from "../shared/dom.js" */

/**
 * A column. `cell` draws; `sort` returns the value to compare; `width` is one of the classes of `columns.js`; `isWide` columns
 * are missing on the card of a phone; `rank` says which leave a narrow table first (`leaving`); the title of an `isSpoken` column
 * is for screen readers only.
 * @template [Row=unknown]
 * @typedef {{id: string, title: string, cell: (row: Row) => Child | Child[], sort?: (row: Row) => string | number | null | undefined,
 *   width?: string, class?: string, isWide?: boolean, isSpoken?: boolean, rank?: number}} Column
 */

/** The order of rows: the id of a column, and whether the largest comes first. @typedef {{by: string, isDescending?: boolean}} Order */

/** The number of rows from which on only visible ones are drawn. */
const LONG = 120;
const MARGIN = 8;

/**
 * @template [Row=unknown]
 * @param {{columns: Column<Row>[], key: (row: Row) => string, label: string, open?: (row: Row, event: Event) => void,
 *   sort?: {by: string, isDescending?: boolean} | null, resort?: (order: Order) => void, mark?: (row: Row) => string, foot?: Node}} options
 *   `open`: called on a press anywhere in a row, whose first cell should have a link or button of the class `row-link` that does the
 *   same. `resort`: the rows come in the wanted order, and this asks for another. `mark` becomes the row's `data-mark`
 */
export function table({ columns, key, label, open, sort, resort, mark, foot }) {
  let rows = /** @type {Row[]} */ ([]);
  let order = sort ?? null;
  let inOrder = rows;
  let height = 47;
  /** @type {Map<string, {element: HTMLTableRowElement, says: string}>} */ const made = new Map();
  const above = spacer(columns.length);
  const below = spacer(columns.length);
  const places = placesOf(columns);
  const heads = columns.map((column, at) => headOf(column, places[at]));
  const body = make("tbody", { role: "rowgroup" });
  // The roles are named, because the cards of a phone are no table to the style sheet.
  const element = make(
    "table",
    { class: "data-table", "aria-label": label, role: "table" },
    make(
      "thead",
      { role: "rowgroup", class: columns.some((column) => column.sort) ? undefined : "is-plain" },
      make("tr", { role: "row" }, ...heads.map((head) => head.element)),
    ),
    body,
  );
  const scroll = make("div", { class: "table-scroll", role: "region", "aria-label": label, tabindex: "0" }, element);
  const wrap = make("div", { class: "table-wrap" }, scroll, foot);

  /** @param {Column<Row>} column @param {string} place */
  function headOf(column, place) {
    const isNumber = column.class?.includes("is-number");
    const name = [column.width, isNumber && "is-number", place].filter(Boolean).join(" ");
    if (!column.sort)
      return {
        column,
        element: make(
          "th",
          { scope: "col", role: "columnheader", class: name || undefined },
          column.isSpoken ? make("span", { class: "visually-hidden" }, column.title) : column.title,
        ),
      };
    const press = make(
      "button",
      { type: "button", class: "sort", title: shell.sortBy(column.title) },
      column.title,
    );
    press.addEventListener("click", () => {
      order = {
        by: column.id,
        isDescending: order?.by === column.id ? !order.isDescending : typeof firstOf(column) === "number",
      };
      scroll.scrollTop = 0;
      if (resort) {
        showOrder();
        resort(order);
      } else reorder();
    });
    return {
      column,
      element: make("th", { scope: "col", role: "columnheader", class: name || undefined, "aria-sort": "none" }, press),
    };
  }

  /** @param {Column<Row>} column */
  const firstOf = (column) =>
    rows.map((row) => column.sort?.(row)).find((value) => value !== null && value !== undefined);

  const reorder = () => {
    const column = columns.find(({ id }) => id === order?.by);
    inOrder = column?.sort && order && !resort ? sorted(rows, column.sort, Boolean(order.isDescending)) : rows;
    showOrder();
    draw();
  };

  const showOrder = () => {
    for (const head of heads)
      if (head.column.sort)
        head.element.setAttribute(
          "aria-sort",
          head.column.id !== order?.by ? "none" : order?.isDescending ? "descending" : "ascending",
        );
  };

  const draw = () => {
    const isLong = inOrder.length > LONG;
    scroll.classList.toggle("is-long", isLong);
    const { top, view } = isLong ? sight() : { top: 0, view: 0 };
    const seen = isLong ? windowOf(inOrder.length, top, view, height, MARGIN) : { from: 0, to: inOrder.length };
    const held = document.activeElement?.closest("tr[data-key]");
    const shown = [];
    const used = new Set();
    for (let index = seen.from; index < seen.to; index += 1) {
      const row = rowFor(inOrder[index], index);
      used.add(row.dataset.key);
      shown.push(row);
    }
    for (const [id, { element: row }] of made) if (!used.has(id) && row !== held) made.delete(id);
    pad(above, seen.from * height);
    pad(below, (inOrder.length - seen.to) * height);
    arrange(body, [above, ...shown, below]);
    element.setAttribute("aria-rowcount", String(inOrder.length + 1));
    if (isLong) follow();
    const first = shown[0]?.offsetHeight;
    if (isLong && first && Math.abs(first - height) > 0.5) {
      height = first;
      draw();
    }
  };

  /** @param {Row} row @param {number} index */
  const rowFor = (row, index) => {
    const id = key(row);
    const says = JSON.stringify(row);
    const known = made.get(id);
    if (known?.says === says) {
      known.element.setAttribute("aria-rowindex", String(index + 2));
      return known.element;
    }
    const cells = columns.map((column, at) => {
      const content = column.cell(row);
      const name = [column.class, places[at]].filter(Boolean).join(" ");
      const data = column.class?.includes("is-number") ? { title: column.title } : undefined;
      return make(
        "td",
        { role: "cell", class: name || undefined, data, dir: "auto" },
        ...(Array.isArray(content) ? content : [content]),
      );
    });
    const line = known?.element ?? make("tr", { role: "row", data: { key: id, ...(open ? { open: "" } : {}) } });
    refill(line, ...cells);
    if (mark) line.dataset.mark = mark(row);
    line.setAttribute("aria-rowindex", String(index + 2));
    made.set(id, { element: line, says });
    return line;
  };

  const find = (/** @type {Element | null | undefined} */ line) =>
    inOrder.findIndex((row) => key(row) === /** @type {HTMLElement} */ (line)?.dataset.key);
  if (open) {
    body.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target);
      if (target.closest("a, button, input, select, label") || getSelection()?.toString()) return;
      const row = inOrder[find(target.closest("tr[data-key]"))];
      if (row) open(row, event);
    });
  }
  body.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const line = /** @type {Element} */ (event.target).closest("tr[data-key]");
    if (!step || !line || /^(INPUT|SELECT|TEXTAREA)$/.test(/** @type {Element} */ (event.target).tagName)) return;
    const next = find(line) + step;
    if (next < 0 || next >= inOrder.length) return;
    event.preventDefault();
    focusRow(next);
  });

  /** @param {number} index */
  const focusRow = (index) => {
    const { top, view } = sight();
    const at = index * height;
    if (scroll.classList.contains("is-long") && (at < top || at + height > top + view - height)) {
      const target = Math.max(0, at - view / 2);
      if (isBoxed()) scroll.scrollTop = target;
      else scrollBy(0, target - top);
      draw();
    }
    const line = body.querySelector(`tr[data-key="${CSS.escape(key(inOrder[index]))}"]`);
    /** @type {HTMLElement | null | undefined} */ (line?.querySelector(".row-link, a, button"))?.focus();
  };

  /** Whether the table scrolls in a box of its own; the cards of a phone scroll with the page. */
  const isBoxed = () => scroll.classList.contains("is-long") && getComputedStyle(scroll).overflowY !== "visible";
  /** Which part of the rows is in sight. */
  const sight = () =>
    isBoxed() || !scroll.isConnected
      ? { top: scroll.scrollTop, view: scroll.clientHeight || 800 }
      : { top: Math.max(0, -scroll.getBoundingClientRect().top), view: innerHeight };

  let isPlanned = false;
  const plan = () => {
    if (!scroll.isConnected) return unfollow();
    if (isPlanned || !scroll.classList.contains("is-long")) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      draw();
    });
  };
  const followed = { capture: true, passive: true };
  const resized = new ResizeObserver(plan);
  let isFollowed = false;
  // A long table listens to the whole page, only as long as it is in it.
  const follow = () => {
    if (isFollowed) return;
    isFollowed = true;
    // It may be put into the page after its first rows.
    requestAnimationFrame(() => {
      if (!scroll.isConnected) return void (isFollowed = false);
      document.addEventListener("scroll", plan, followed);
      resized.observe(scroll);
    });
  };
  const unfollow = () => {
    document.removeEventListener("scroll", plan, followed);
    resized.disconnect();
    isFollowed = false;
  };

  const show = (/** @type {Row[]} */ next) => {
    rows = next;
    reorder();
    return wrap;
  };
  return { element: wrap, show, rows: () => inOrder, isBoxed };
}

/**
 * The classes of each column's place: the main one, what a narrow table and what a phone leaves out.
 * @template [Row=unknown] @param {Column<Row>[]} columns
 */
function placesOf(columns) {
  const from = leaving(columns);
  const main = mainOf(columns);
  return columns.map(({ isWide, isSpoken, width }, at) =>
    [
      at === main && "is-main",
      from[at] > 0 && `from-${from[at]}`,
      isWide && "is-wide",
      isSpoken && width === "w-xs" && "is-menu",
    ]
      .filter(Boolean)
      .join(" "),
  );
}

/** @param {number} columns */
function spacer(columns) {
  return make("tr", { class: "spacer", "aria-hidden": "true", hidden: true }, make("td", { colspan: columns }));
}

/** @param {HTMLElement} row @param {number} height */
function pad(row, height) {
  row.hidden = height <= 0;
  /** @type {HTMLElement} */ (row.firstElementChild).style.height = `${height}px`;
}

/**
 * The main cell of a row: its name as a link and, on a phone, a second line below.
 * @param {{href?: string, press?: () => void, label: Child[], sub?: Child[]}} options
 */
export function rowTitle({ href, press, label, sub }) {
  const link = href
    ? make("a", { class: "row-link", href }, ...label)
    : make("button", { type: "button", class: "row-link", on: press ? { click: press } : undefined }, ...label);
  return [link, sub && make("span", { class: "row-sub" }, ...sub)];
}
