// Multi-turn work: its plan, progress and cost, and pausing, resuming and cancelling it.

import { openDrawer, pairs } from "../../../components/drawer.js";
import { further } from "../../../components/further.js";
import { region, state } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { pageAt } from "../../../shared/api.js";
import { badge, button, iconButton, note } from "../../../shared/controls.js";
import { counted } from "../../../shared/count.js";
import { confirmDialog } from "../../../shared/dialog.js";
import { fill, make } from "../../../shared/dom.js";
import { duration, money, timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { workWords as words } from "../../../texts/work.js";
import { runAction } from "../../run-action.js";
import { exactTime } from "../../exact-time.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { WorkList } from "../../../wire/api.js" */

/**
 * @typedef {{number: number, title: string, state: string, evidence: string | null, error: string | null}} Task
 * @typedef {{work_id: string, goal: string, session_id: string, origin: string, state: string, reason: string | null,
 *   tasks: Task[], iterations: number,
 *   cost_usd: number, seconds: number, created_at: string, updated_at: string, receipt: string | null, wish: string | null}} Work
 */

/** @type {Path<WorkList>} */ const path = "/api/work?limit=200";

/** How often open work is reloaded, because no event reports that a request was carried out or that work has ended. */
const againMs = 3000;

const open = new Set(["queued", "running", "paused"]);

/** @param {import("../../context.js").Context} context */
export function workSection(context) {
  const list = table({
    label: words.label,
    key: (/** @type {Work} */ work) => work.work_id,
    columns: columnsFor(context),
    open: (work) => details(work),
  });
  const aside = make("div", {});
  const head = make("div", { class: "section-head" }, make("h2", {}, words.title), aside);
  const hint = make("div", {});
  const body = make("div", { class: "stack" });
  const whole = make("div", {}, body);
  let isWorking = false;
  const older = further(context, {
    path: (/** @type {string} */ cursor) => pageAt(path, cursor),
    rows: (/** @type {WorkList} */ { work }) => work,
    key: (/** @type {Work} */ work) => work.work_id,
    shown: () => {
      isWorking = older.rows().some((one) => open.has(one.state));
      list.show(older.rows());
    },
  });
  whole.append(older.element);
  const show = (/** @type {WorkList} */ { enabled, ambient, paused, work: newest = [], next_cursor: next }) => {
    const work = older.take(newest, next);
    isWorking = work.some((one) => open.has(one.state));
    fill(aside, enabled && switchAll(context, paused));
    fill(
      hint,
      enabled && paused && note({ text: words.pausedAll, tone: "warn", icon: "pause" }),
      enabled && ambient && make("p", { class: "is-soft" }, words.ambient),
    );
    fill(body, hint.hasChildNodes() && hint, work.length > 0 ? list.show(work) : nothing(enabled));
    return whole;
  };
  const answers = region(context, { path, failure: words.failed, lines: 3, optional: true, show });
  const timer = setInterval(() => isWorking && !document.hidden && answers.soon(), againMs);
  context.signal.addEventListener("abort", () => clearInterval(timer));
  return { element: make("section", { class: "work-list" }, head, answers.element), soon: answers.soon };
}

/** @param {boolean} isEnabled */
const nothing = (isEnabled) =>
  state(
    isEnabled
      ? { icon: "steps", title: words.emptyTitle, text: words.empty }
      : { icon: "steps", title: words.offTitle, text: words.off },
  );

/** Pauses everything, including idle time, or resumes it. @param {import("../../context.js").Context} context @param {boolean} isPaused */
function switchAll(context, isPaused) {
  const press = () =>
    void runAction(
      () => context.request(`/api/work/all/${isPaused ? "resume" : "pause"}`, { method: "POST" }),
      isPaused ? words.allResumed : words.allPaused,
      () => context.store.soon(path),
    );
  return button({
    label: isPaused ? words.resumeAll : words.pauseAll,
    icon: isPaused ? "play" : "pause",
    look: "button-small",
    press,
  });
}

/** @param {import("../../context.js").Context} context @returns {import("../../../components/table.js").Column<Work>[]} */
const columnsFor = (context) => [
  {
    id: "goal",
    title: words.columns.goal,
    cell: (work) =>
      rowTitle({
        press: () => details(work),
        label: visible(work.goal),
        sub: [progress(work), " · ", timeElement(work.updated_at)],
      }),
  },
  {
    id: "state",
    title: words.columns.state,
    width: "w-outcome",
    sort: (work) => work.state,
    cell: (work) => stateOf(work),
  },
  {
    id: "tasks",
    title: words.columns.tasks,
    width: "w-s",
    isWide: true,
    class: "is-number",
    cell: (work) => progress(work),
  },
  {
    id: "took",
    title: words.columns.took,
    width: "w-xs",
    isWide: true,
    class: "is-number",
    sort: (work) => work.seconds,
    cell: (work) => duration(work.seconds * 1000),
  },
  {
    id: "cost",
    title: words.columns.cost,
    width: "w-cost",
    isWide: true,
    class: "is-number",
    sort: (work) => work.cost_usd,
    cell: (work) => money(work.cost_usd),
  },
  {
    id: "when",
    title: words.columns.when,
    width: "w-s",
    rank: 2,
    isWide: true,
    class: "is-soft",
    sort: (work) => work.updated_at,
    cell: (work) => timeElement(work.updated_at),
  },
  {
    id: "actions",
    title: words.columns.actions,
    width: "w-s",
    isSpoken: true,
    class: "is-actions",
    cell: (work) => actions(context, work),
  },
];

/** @param {Work} work */
const progress = ({ tasks }) => words.tasksDone(tasks.filter((task) => task.state === "done").length, tasks.length);

/** @param {Work} work */
function stateOf({ state: name, reason, wish }) {
  if (wish && open.has(name)) return badge(words.wishes[wish] ?? visibleText(wish), "warn", "clock");
  const { label, tone, icon } = words.states[name] ?? {
    label: visibleText(name),
    tone: /** @type {const} */ (""),
    icon: "info",
  };
  return make("span", { title: visibleText(reason ?? "") }, badge(label, tone, icon));
}

/** @param {import("../../context.js").Context} context @param {Work} work */
function actions(context, work) {
  if (!open.has(work.state)) return [];
  const goal = visibleText(work.goal);
  const wish = (/** @type {string} */ verb, /** @type {string} */ done) =>
    runAction(
      () => context.request(`/api/work/${encodeURIComponent(work.work_id)}/${verb}`, { method: "POST" }),
      done,
      () => context.store.soon(path),
    );
  const cancel = async () => {
    if (await confirmDialog({ title: words.cancelTitle, text: words.cancelBody(goal), action: words.cancelAction }))
      await wish("cancel", words.willStop);
  };
  const rests = work.state === "paused";
  return [
    rests
      ? iconButton({ label: words.resume(goal), icon: "play", press: () => void wish("resume", words.willResume) })
      : iconButton({ label: words.pause(goal), icon: "pause", press: () => void wish("pause", words.willPause) }),
    iconButton({ label: words.cancel(goal), icon: "stop", press: () => void cancel() }),
  ];
}

/** A piece of work in full: its tasks with the evidence that they are done, and its cost. @param {Work} work */
function details(work) {
  const tasks = work.tasks.map((task) => {
    const said = task.evidence ?? task.error;
    return make(
      "li",
      {},
      ...visible(task.title),
      ` (${words.taskStates[task.state] ?? visibleText(task.state)})`,
      said && make("p", { class: "is-soft" }, ...visible(said)),
    );
  });
  openDrawer({
    title: work.goal,
    body: [
      pairs(
        [words.columns.state, stateOf(work)],
        [words.reason, work.reason && make("span", {}, ...visible(work.reason))],
        [words.origin, words.origins[work.origin] ?? visibleText(work.origin)],
        [
          words.conversation,
          make("a", { href: `#/sessions/${encodeURIComponent(work.session_id)}` }, visibleText(work.session_id)),
        ],
        [words.planned, exactTime(work.created_at)],
        [words.columns.when, exactTime(work.updated_at)],
        [words.turns, counted(work.iterations)],
        [words.columns.took, duration(work.seconds * 1000)],
        [words.columns.cost, money(work.cost_usd)],
      ),
      make("section", {}, make("h3", {}, words.tasks), make("ol", { class: "work-tasks" }, ...tasks)),
      ...(work.receipt
        ? [
            make(
              "section",
              {},
              make("h3", {}, words.receipt),
              make("p", { class: "work-receipt" }, ...visible(work.receipt)),
            ),
          ]
        : []),
    ],
    closed: () => {},
  });
}
