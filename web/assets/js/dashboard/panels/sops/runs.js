// The newest SOP runs: the state and cost of each, and resuming one whose turn was lost.

import { region, state } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { badge, button } from "../../../shared/controls.js";
import { make } from "../../../shared/dom.js";
import { money, timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { sopWords as words } from "../../../texts/sops.js";
import { runAction } from "../../run-action.js";
import { hrefOf } from "../../route.js";

export const sopRunsPath = "/api/sop-runs?limit=200";

/** States of a run without an active turn. */
const resumable = new Set(["failed", "stopped"]);

/** @param {import("../../context.js").Context} context @param {string} [name] of this SOP only */
export function sopRuns(context, name) {
  const { runColumns: columns } = words;
  const list = table({
    label: words.tabs.runs,
    key: (row) => row.run_id,
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
  const show = (/** @type {any} */ { runs = [] }) => {
    const mine = name ? runs.filter((/** @type {any} */ run) => run.sop_name === name) : runs;
    return mine.length > 0 ? list.show(mine) : state({ icon: "steps", title: words.noRunsTitle, text: words.noRuns });
  };
  return region(context, { path: sopRunsPath, failure: words.runsFailed, show }).element;
}

/** @param {any} row */
function stateOf(row) {
  const { label, tone, icon } = words.states[row.state] ?? {
    label: row.state,
    tone: /** @type {const} */ (""),
    icon: "info",
  };
  return make("span", { title: visibleText(row.error ?? "") }, badge(label, tone, icon));
}

/** @param {import("../../context.js").Context} context @param {any} row */
async function resume(context, row) {
  const path = `/api/sop-runs/${encodeURIComponent(row.run_id)}/resume`;
  await runAction(
    () => context.request(path, { method: "POST" }),
    words.resumed,
    () => context.store.soon(sopRunsPath),
  );
}
