// A sortable table. If it is long, only the visible rows are in the page, so that 10,000 rows cost as much as 40. Unchanged rows
// keep their elements, so that focus and selection survive new data.

import { arrange, make, refill } from "../shared/dom.js";
import { shell } from "../texts/shell.js";
import { sorted, windowOf } from "./table-math.js";

/** @import { Child } from "../shared/dom.js" */

/**
 * A column. `cell` draws; `sort` returns the value to compare; `width` is one of the classes `w-xs` to `w-l`; `isWide` columns
 * are hidden on a phone; the title of an `isSpoken` column is for screen readers only.
 * @template Row
 * @typedef {{id: string, title: string, cell: (row: Row) => Child | Child[], sort?: (row: Row) => string | number | null | undefined,
 *   width?: string, class?: string, isWide?: boolean, isSpoken?: boolean}} Column
 */

/** The number of rows from which on only visible ones are drawn. */
const LONG = 120;
const MARGIN = 8;

/**
 * @template Row
 * @param {{columns: Column<Row>[], key: (row: Row) => string, label: string, open?: (row: Row, event: Event) => void,
 *   sort?: {by: string, isDescending?: boolean}, mark?: (row: Row) => string, foot?: Node}} options `open`: called on a
 *   press anywhere in a row,
 *   whose first cell should have a link or button of the class `row-link` that does the same. `mark` becomes the row's `data-mark`
 */
export function table({ columns, key, label, open, sort, mark, foot }) {
  let rows = /** @type {Row[]} */ ([]);
  let order = sort ?? null;
  let inOrder = rows;
  let height = 47;
  /** @type {Map<string, {element: HTMLTableRowElement, says: string}>} */ const made = new Map();
  const above = spacer(columns.length);
  const below = spacer(columns.length);
  const heads = columns.map((column) => headOf(column));
  const body = make("tbody", {});
  const element = make(
    "table",
    { class: "data-table", "aria-label": label },
    make("thead", {}, make("tr", {}, ...heads.map((head) => head.element))),
    body,
  );
  const scroll = make("div", { class: "table-scroll", role: "region", "aria-label": label, tabindex: "0" }, element);
  const wrap = make("div", { class: "table-wrap" }, scroll, foot);

  /** @param {Column<Row>} column */
  function headOf(column) {
    const isNumber = column.class?.includes("is-number");
    const name = [column.width, isNumber && "is-number", column.isWide && "is-wide"].filter(Boolean).join(" ");
    if (!column.sort)
      return {
        column,
        element: make(
          "th",
          { scope: "col", class: name || undefined },
          column.isSpoken ? make("span", { class: "visually-hidden" }, column.title) : column.title,
        ),
      };
    const press = make(
      "button",
      { type: "button", class: "sort", title: shell.sortBy(column.title.toLowerCase()) },
      column.title,
    );
    press.addEventListener("click", () => {
      order = {
        by: column.id,
        isDescending: order?.by === column.id ? !order.isDescending : typeof firstOf(column) === "number",
      };
      scroll.scrollTop = 0;
      reorder();
    });
    return { column, element: make("th", { scope: "col", class: name || undefined, "aria-sort": "none" }, press) };
  }

  /** @param {Column<Row>} column */
  const firstOf = (column) =>
    rows.map((row) => column.sort?.(row)).find((value) => value !== null && value !== undefined);

  const reorder = () => {
    const column = columns.find(({ id }) => id === order?.by);
    inOrder = column?.sort && order ? sorted(rows, column.sort, Boolean(order.isDescending)) : rows;
    for (const head of heads)
      if (head.column.sort)
        head.element.setAttribute(
          "aria-sort",
          head.column.id !== order?.by ? "none" : order?.isDescending ? "descending" : "ascending",
        );
    draw();
  };

  const draw = () => {
    const isLong = inOrder.length > LONG;
    scroll.classList.toggle("is-long", isLong);
    const seen = isLong
      ? windowOf(inOrder.length, scroll.scrollTop, scroll.clientHeight || 800, height, MARGIN)
      : { from: 0, to: inOrder.length };
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
    const cells = columns.map((column) => {
      const content = column.cell(row);
      const name = [column.class, column.isWide && "is-wide"].filter(Boolean).join(" ");
      return make("td", { class: name || undefined }, ...(Array.isArray(content) ? content : [content]));
    });
    const line = known?.element ?? make("tr", { data: { key: id, ...(open ? { open: "" } : {}) } });
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
    const top = index * height;
    if (
      scroll.classList.contains("is-long") &&
      (top < scroll.scrollTop || top + height > scroll.scrollTop + scroll.clientHeight - height)
    ) {
      scroll.scrollTop = Math.max(0, top - scroll.clientHeight / 2);
      draw();
    }
    const line = body.querySelector(`tr[data-key="${CSS.escape(key(inOrder[index]))}"]`);
    /** @type {HTMLElement | null | undefined} */ (line?.querySelector(".row-link, a, button"))?.focus();
  };

  let isPlanned = false;
  scroll.addEventListener(
    "scroll",
    () => {
      if (isPlanned || !scroll.classList.contains("is-long")) return;
      isPlanned = true;
      requestAnimationFrame(() => {
        isPlanned = false;
        draw();
      });
    },
    { passive: true },
  );

  const show = (/** @type {Row[]} */ next) => {
    rows = next;
    reorder();
    return wrap;
  };
  return { element: wrap, show, rows: () => inOrder };
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
