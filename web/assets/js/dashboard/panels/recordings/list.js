// The list of recordings, including rejected ones and the reason.

import { fill, make } from "../../../shared/dom.js";
import { badge } from "../../../shared/controls.js";
import { counted, fixed } from "../../../shared/count.js";
import { duration, timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { recordings as words } from "../../../texts/recordings.js";
import { searchField } from "../../../components/form.js";
import { region, state } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { keyedList } from "../overview/lists.js";
import { hrefOf } from "../../route.js";
import { loadTitles, titleFor } from "./titles.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { ListedRecording, RecordingList, RunningRecording } from "../../../wire/api.js" */

/** @typedef {ListedRecording & {title?: string}} Listed */

/** @typedef {RunningRecording & {title?: string}} Running */

/** @type {Path<RecordingList>} */
export const listPath = "/api/sessions/recordings";

/** @param {HTMLElement} root @param {import("../../context.js").Context} context */
export function mountList(root, context) {
  let text = context.query.get("q") ?? "";
  let rows = /** @type {Listed[]} */ ([]);
  let live = /** @type {Running[]} */ ([]);
  const view = table({
    label: words.list,
    key: (/** @type {Listed} */ row) => row.name,
    columns,
    open: (row) => context.go([row.name]),
    sort: { by: "started", isDescending: true },
    mark: (row) => (faultOf(row) ? "refused" : ""),
  });
  const count = make("span", { class: "bar-count", role: "status" });
  const running = make("ul", { class: "brief", role: "list" });
  const runningCount = make("span", {});
  // Folded: what is finished can be opened, and there may be many that are not.
  const now = make(
    "details",
    { hidden: true, class: "rec-now-list" },
    make("summary", {}, runningCount),
    make("div", { class: "card brief-card rec-running" }, running),
    make("p", { class: "quiet rec-hint" }, words.runningHint),
  );
  const ended = make("div", {});
  const body = make("div", {}, ended, now);
  const showRunning = keyedList(running, runningRow, (row) => row.name);
  const show = () => {
    const asked = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) =>
      asked.every((word) => `${row.name} ${row.session_id} ${row.title ?? ""}`.toLowerCase().includes(word)),
    );
    count.textContent = words.count(found.length, rows.length);
    if (rows.length === 0)
      fill(
        ended,
        now.hidden
          ? state({ icon: "record", title: words.emptyTitle, text: words.empty })
          : make("p", { class: "quiet" }, words.noneEnded),
      );
    else if (found.length === 0) fill(ended, state({ icon: "search", title: words.noMatchTitle, text: words.noMatch }));
    else if (ended.firstChild !== view.show(found)) fill(ended, view.element);
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
  const titled = () => {
    const titleOf = (/** @type {Listed | Running} */ row) => titleFor(context, row.session_id);
    rows = rows.map((row) => ({ ...row, title: titleOf(row) }));
    // Where nothing has ended, those are all there is to see.
    if (now.hidden && live.length > 0 && rows.length === 0) now.open = true;
    now.hidden = live.length === 0;
    runningCount.textContent = words.runningCount(live.length);
    showRunning(live.map((row) => ({ ...row, title: titleOf(row) })));
    return show();
  };
  const further = async (/** @type {Listed[]} */ first, /** @type {string} */ next) => {
    const all = [...first];
    for (let cursor = /** @type {string | null} */ (next); cursor && !context.signal.aborted; ) {
      /** @type {Path<RecordingList>} */ const path = `${listPath}?cursor=${encodeURIComponent(cursor)}`;
      const page = await context.request(path);
      all.push(...page.recordings);
      cursor = page.next_cursor;
    }
    // A refresh meanwhile has begun anew.
    if (context.signal.aborted || rows[0]?.name !== first[0]?.name) return;
    rows = all;
    titled();
  };
  const answers = region(context, {
    path: listPath,
    failure: words.failed,
    show: ({ recordings = [], running: begun = [], next_cursor: next }) => {
      rows = recordings;
      live = begun;
      // Further pages follow as soon as the first is shown; if they fail, the next refresh asks again.
      if (next) void further(recordings, next).catch(() => undefined);
      return titled();
    },
  });
  loadTitles(context, () => body.isConnected && titled());
  fill(root, make("div", { class: "bar" }, search.element, count), answers.element);
  return {
    refresh: () => answers.soon(),
    live: (/** @type {import("../../panels.js").LiveEvent} */ ...[topic]) => topic === "recordings" && answers.soon(),
  };
}

/** Why a recording was rejected. @param {Listed} row */
export const faultOf = (row) => row.error ?? "";

/** @param {number} bytes */
export function sizeOf(bytes) {
  if (!(bytes >= 1024)) return `${Math.round(bytes || 0)} B`;
  return bytes < 1048576 ? `${Math.round(bytes / 1024)} KB` : `${fixed(bytes / 1048576, 1)} MB`;
}

/** A recording in progress links to its conversation, where it can be read meanwhile. @param {Running} row */
const runningRow = (row) =>
  make(
    "li",
    { class: "brief-row" },
    make(
      "a",
      { class: "row-link", href: hrefOf("sessions", [row.session_id]) },
      ...visible(row.title || row.session_id),
    ),
    make("span", { class: "is-soft" }, sizeOf(row.size)),
    timeElement(row.started_at, "is-soft"),
  );

/** @param {Listed} row */
const lasted = (row) => Date.parse(row.ended_at ?? "") - Date.parse(row.started_at ?? "");

/** @type {import("../../../components/table.js").Column<Listed>[]} */
const columns = [
  {
    id: "what",
    title: words.columns.what,
    cell: (row) => {
      const fault = faultOf(row);
      const sub = [row.started_at ? timeElement(row.started_at) : "", " · ", words.snapshots(row.snapshots_count ?? 0)];
      const [link, below] = rowTitle({
        href: hrefOf("recordings", [row.name]),
        label: visible(row.title || row.session_id || row.name),
        sub,
      });
      return [
        link,
        fault && " ",
        fault && make("span", { title: visibleText(fault) }, badge(words.refused, "bad", "alert")),
        below,
      ];
    },
  },
  {
    id: "started",
    title: words.columns.started,
    width: "w-s",
    rank: 2,
    isWide: true,
    class: "is-soft",
    sort: (row) => row.started_at,
    cell: (row) => row.started_at && timeElement(row.started_at),
  },
  {
    id: "took",
    title: words.columns.took,
    width: "w-s",
    isWide: true,
    class: "is-number",
    sort: lasted,
    cell: (row) => (Number.isFinite(lasted(row)) ? duration(Math.max(0, lasted(row))) : ""),
  },
  {
    id: "events",
    title: words.columns.events,
    width: "w-s",
    isWide: true,
    class: "is-number",
    sort: (row) => row.events_count,
    cell: (row) => row.events_count === undefined ? "" : counted(row.events_count),
  },
  {
    id: "snapshots",
    title: words.columns.snapshots,
    width: "w-s",
    isWide: true,
    class: "is-number",
    sort: (row) => row.snapshots_count,
    cell: (row) => row.snapshots_count === undefined ? "" : counted(row.snapshots_count),
  },
  {
    id: "size",
    title: words.columns.size,
    width: "w-s",
    class: "is-number",
    sort: (row) => row.size,
    cell: (row) => sizeOf(row.size),
  },
];
