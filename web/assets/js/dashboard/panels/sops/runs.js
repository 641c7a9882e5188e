// The newest SOP runs: the state and cost of each, and resuming one whose turn was lost.

import { cursorList } from "../../../components/cursor-list.js";
import { serverOrder } from "../../../components/server-order.js";
import { state } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { badge, button } from "../../../shared/controls.js";
import { make } from "../../../shared/dom.js";
import { money, timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { sopWords as words } from "../../../texts/sops.js";
import { runAction } from "../../run-action.js";
import { hrefOf } from "../../route.js";

/** @import { Wanted } from "../../../components/cursor-list.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { SopRun, SopRuns } from "../../../wire/api.js" */

/** @param {Record<string, string>} query @returns {Path<SopRuns>} */
const runsPath = (query) => `/api/sop-runs?${new URLSearchParams(query)}`;

const changes = new EventTarget();

/** Tells all lists of runs to look again. */
export const runsChanged = () => void changes.dispatchEvent(new Event("change"));

/** States of a run without an active turn. */
const resumable = new Set(["failed", "stopped"]);

/** The fields of the service that the columns are sorted by. */
const fields = { sop: "sop_name", state: "state", steps: "steps_done", started: "started_at", cost: "cost_usd" };

/** @param {import("../../context.js").Context} context @param {string} [name] of this SOP only */
export function sopRuns(context, name) {
  const { runColumns: columns } = words;
  const order = serverOrder(new URLSearchParams(), fields, { by: "started", isDescending: true });
  const view = table({
    label: words.tabs.runs,
    key: (/** @type {SopRun} */ row) => row.run_id,
    sort: order.get(),
    resort: (next) => {
      order.set(next);
      void list.reload(true);
    },
    columns: [
      {
        id: "sop",
        title: columns.sop,
        sort: (row) => row.sop_name,
        cell: (row) =>
          rowTitle({
            href: hrefOf("sessions", [row.session_id]),
            label: visible(row.sop_name),
            sub: [words.stepsDone(row.steps_done, row.steps), " · ", timeElement(row.started_at)],
          }),
      },
      { id: "state", title: columns.state, width: "w-m", sort: (row) => row.state, cell: (row) => stateOf(row) },
      {
        id: "steps",
        title: columns.steps,
        width: "w-s",
        isWide: true,
        class: "is-number",
        sort: (row) => row.steps_done,
        cell: (row) => words.stepsDone(row.steps_done, row.steps),
      },
      {
        id: "started",
        title: columns.started,
        width: "w-s",
        isWide: true,
        class: "is-soft",
        sort: (row) => Date.parse(row.started_at),
        cell: (row) => timeElement(row.started_at),
      },
      {
        id: "cost",
        title: columns.cost,
        width: "w-s",
        isWide: true,
        class: "is-number",
        sort: (row) => row.cost_usd,
        cell: (row) => money(row.cost_usd ?? 0),
      },
      {
        id: "actions",
        title: columns.actions,
        width: "w-s",
        isSpoken: true,
        class: "is-actions",
        cell: (row) =>
          resumable.has(row.state) &&
          button({ label: words.resume, icon: "play", look: "button-small", press: () => void resume(context, row) }),
      },
    ],
  });
  const list = cursorList(context, {
    path: (/** @type {Wanted} */ { limit, cursor }) => {
      const filters = { ...(cursor && { cursor }), ...(name && { sop: name }), ...order.parameters() };
      return runsPath({ limit: String(limit), ...filters });
    },
    key: (/** @type {SopRun} */ row) => row.run_id,
    rows: (answer) => answer.runs ?? [],
    show: (rows) => view.show(rows),
    empty: () => state({ icon: "steps", title: words.noRunsTitle, text: words.noRuns }),
    failure: words.runsFailed,
    page: 100,
  });
  changes.addEventListener("change", list.soon, { signal: context.signal });
  return list.element;
}

/** @param {SopRun} row */
function stateOf(row) {
  const { label, tone, icon } = words.states[row.state] ?? {
    label: row.state,
    tone: /** @type {const} */ (""),
    icon: "info",
  };
  return make("span", { title: visibleText(row.error ?? "") }, badge(label, tone, icon));
}

/** @param {import("../../context.js").Context} context @param {SopRun} row */
async function resume(context, row) {
  const path = `/api/sop-runs/${encodeURIComponent(row.run_id)}/resume`;
  await runAction(
    () => context.request(path, { method: "POST" }),
    words.resumed,
    runsChanged,
  );
}
