// The list of recordings, with those that are refused and why.

import { fill, make } from "../../shared/dom.js";
import { badge } from "../../shared/controls.js";
import { duration, timeElement } from "../../shared/time.js";
import { visible, visibleText } from "../../shared/visible.js";
import { recordings as words } from "../../texts/recordings.js";
import { searchField } from "../../components/form.js";
import { region, state } from "../../components/state.js";
import { rowTitle, table } from "../../components/table.js";
import { hrefOf } from "../route.js";
import { loadTitles, titleFor } from "../titles.js";

/** @typedef {{name: string, session_id: string, size: number, started_at: string, ended_at: string, events_count: number, snapshots_count: number, error?: string, refused?: string, title?: string}} Listed */

export const listPath = "/api/sessions/recordings";

/** @param {HTMLElement} root @param {import("../context.js").Context} context */
export function mountList(root, context) {
  let text = context.query.get("q") ?? "";
  let rows = /** @type {Listed[]} */ ([]);
  const view = table({ label: words.list, key: (/** @type {Listed} */ row) => row.name, columns, open: (row) => context.go([row.name]), sort: { by: "started", isDescending: true }, mark: (row) => (faultOf(row) ? "refused" : "") });
  const count = make("span", { class: "bar-count", role: "status" });
  const body = make("div", {});
  const show = () => {
    const asked = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) => asked.every((word) => `${row.name} ${row.session_id} ${row.title ?? ""}`.toLowerCase().includes(word)));
    count.textContent = words.count(found.length, rows.length);
    if (rows.length === 0) fill(body, state({ icon: "record", title: words.emptyTitle, text: words.empty }));
    else if (found.length === 0) fill(body, state({ icon: "search", title: words.noMatchTitle, text: words.noMatch }));
    else if (body.firstChild !== view.show(found)) fill(body, view.element);
    return body;
  };
  const search = searchField({
    label: words.search,
    value: text,
    change: (next) => {
      text = next;
      context.note([], { q: text });
      show();
    },
  });
  const answers = region(context, {
    path: listPath,
    failure: words.failed,
    show: ({ recordings = [] }) => {
      rows = recordings.map((/** @type {Listed} */ row) => ({ ...row, title: titleFor(context, row.session_id) }));
      return show();
    },
  });
  const titled = () => {
    rows = rows.map((row) => ({ ...row, title: titleFor(context, row.session_id) }));
    if (rows.length > 0) show();
  };
  loadTitles(context, titled);
  fill(root, make("div", { class: "bar" }, search.element, count), answers.element);
  return { refresh: () => answers.soon(), live: (/** @type {string} */ topic) => topic === "recordings" && answers.soon() };
}

/** Why a recording is refused. @param {any} row @returns {string} */
export const faultOf = (row) => String(row?.error ?? row?.refused ?? row?.problem ?? "");

/** @param {number} bytes */
export function sizeOf(bytes) {
  if (!(bytes >= 1024)) return `${Math.round(bytes || 0)} B`;
  return bytes < 1048576 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;
}

/** @param {Listed} row */
const lasted = (row) => Date.parse(row.ended_at) - Date.parse(row.started_at);

/** @type {import("../../components/table.js").Column<Listed>[]} */
const columns = [
  {
    id: "what",
    title: words.columns.what,
    cell: (row) => {
      const fault = faultOf(row);
      const sub = [row.started_at ? timeElement(row.started_at) : "", " · ", words.snapshots(row.snapshots_count ?? 0)];
      const [link, below] = rowTitle({ href: hrefOf("recordings", [row.name]), label: visible(row.title || row.session_id || row.name), sub });
      return [link, fault && " ", fault && make("span", { title: visibleText(fault) }, badge(words.refused, "bad", "alert")), below];
    },
  },
  { id: "started", title: words.columns.started, width: "w-s", isWide: true, class: "is-soft", sort: (row) => row.started_at, cell: (row) => row.started_at && timeElement(row.started_at) },
  { id: "took", title: words.columns.took, width: "w-s", isWide: true, class: "is-number", sort: lasted, cell: (row) => (Number.isFinite(lasted(row)) ? duration(Math.max(0, lasted(row))) : "") },
  { id: "events", title: words.columns.events, width: "w-xs", isWide: true, class: "is-number", sort: (row) => row.events_count, cell: (row) => (row.events_count ?? "").toLocaleString("en") },
  { id: "snapshots", title: words.columns.snapshots, width: "w-s", isWide: true, class: "is-number", sort: (row) => row.snapshots_count, cell: (row) => (row.snapshots_count ?? "").toLocaleString("en") },
  { id: "size", title: words.columns.size, width: "w-s", class: "is-number", sort: (row) => row.size, cell: (row) => sizeOf(row.size) },
];
