// Scheduled jobs: their next and last runs, and the actions on them. `#/scheduler`, `#/scheduler/ID`,
// `#/scheduler/new`.

import { searchField } from "../../../components/form.js";
import { region, state, together } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { badge, button, note } from "../../../shared/controls.js";
import { fill, make } from "../../../shared/dom.js";
import { rowMenu } from "../../../shared/menu.js";
import { timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { schedulerWords as words } from "../../../texts/scheduler.js";
import { dayView } from "./day.js";
import { jobDrawer } from "./drawer.js";
import { furtherJobs, jobActions, jobsPath, statusBadge, whatWords, whenWords } from "../../jobs.js";
import { hrefOf } from "../../route.js";

/** @import { Job, JobList } from "../../../wire/api.js" */

/** Up to this many jobs need no filter. */
const FEW = 8;

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const top = make("div", { class: "scheduler-top" });
  const changed = () => view.soon();
  const drawer = jobDrawer(context, { changed, closed: () => location.hash !== "#/scheduler" && context.go() });
  const list = jobTable(context, changed);
  const day = dayView();
  const body = make("div", {});
  const count = make("span", { class: "bar-count", role: "status" });
  let asked = context.query.get("q") ?? "";
  let all = /** @type {Job[]} */ ([]);
  const search = searchField({
    label: words.search,
    value: asked,
    change: (next) => {
      asked = next;
      context.note([], { q: asked });
      draw();
    },
  });
  const bar = make("div", { class: "bar", hidden: true }, search.element, count);
  const draw = () => {
    const found = matching(all, asked);
    // A short list is its own overview.
    bar.hidden = all.length <= FEW && asked === "";
    count.textContent = words.found(found.length, all.length);
    const shown =
      found.length > 0
        ? list.show(found)
        : all.length > 0
          ? state({ icon: "search", title: words.noMatchTitle, text: words.noMatch })
          : state({ icon: "clock", title: words.emptyTitle, text: words.empty });
    if (body.firstChild !== shown) fill(body, shown);
  };
  const show = (/** @type {JobList} */ answer) => {
    const { jobs = [], enabled, next_cursor: next } = answer;
    // Further pages follow as soon as the first is shown; if they fail, the next refresh asks again.
    if (next)
      furtherJobs(context, next).then(
        (more) => view.element.isConnected && show({ ...answer, jobs: [...jobs, ...more], next_cursor: null }),
        () => {},
      );
    fill(top, !enabled && note({ text: words.off, tone: "warn", icon: "pause" }));
    all = jobs;
    draw();
    day.show(jobs);
    drawer.update(jobs);
    return body;
  };
  const view = region(context, { path: jobsPath, failure: words.failed, show, lines: 6 });
  context.store.watch(
    jobsPath,
    () => {
      const problem = context.store.get(jobsPath)?.problem;
      if (problem) drawer.fail(problem.message, () => void view.reload());
    },
    context.signal,
  );
  fill(
    context.tools,
    button({ label: words.add, icon: "plus", look: "button-primary", press: () => context.go(["new"]) }),
  );
  // The day stands above the list and is known with it.
  together(context, [jobsPath], root, make("div", {}, top, day.element, bar, view.element));
  drawer.open(context.parts[0]);
  return {
    live: (topic, data) => {
      if (topic !== "scheduler") return;
      view.soon();
      drawer.onEvent(data);
    },
    refresh: view.soon,
    route: (parts) => drawer.open(parts[0]),
    unmount: drawer.close,
  };
}

/**
 * The jobs in which every word occurs: in the name, the task, both forms of the schedule, the channel, the outcome.
 * @param {Job[]} jobs @param {string} asked
 */
function matching(jobs, asked) {
  const wanted = asked.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return jobs;
  return jobs.filter((job) => {
    const state = job.enabled ? "" : words.paused;
    const outcome = job.last_status ? (words.statuses[job.last_status]?.label ?? job.last_status) : words.never;
    const text = [job.job_id, whatWords(job), job.cron, whenWords(job), job.channel, job.recipient, state, outcome]
      .join(" ")
      .toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** @param {import("../../context.js").Context} context @param {() => void} changed */
function jobTable(context, changed) {
  const { columns } = words;
  return table({
    label: words.list,
    key: (/** @type {Job} */ row) => row.job_id,
    open: (row) => context.go([row.job_id]),
    columns: [
      {
        id: "job",
        title: columns.job,
        width: "w-m",
        sort: (row) => row.job_id,
        cell: (row) =>
          rowTitle({
            href: hrefOf("scheduler", [row.job_id]),
            label: visible(row.job_id),
            sub: [...visible(whenWords(row)), row.next_run && " · ", row.next_run && timeElement(row.next_run)],
          }),
      },
      { id: "what", title: columns.what, isWide: true, rank: 2, class: "is-soft", cell: (row) => visible(whatWords(row)) },
      {
        id: "when",
        title: columns.when,
        width: "w-m",
        isWide: true,
        sort: (row) => whenWords(row),
        cell: (row) => {
          const said = whenWords(row);
          const isExpression = said === row.cron;
          return make(
            "span",
            { class: isExpression ? "mono" : undefined, title: visibleText(row.cron ?? said) },
            ...visible(said),
          );
        },
      },
      {
        id: "next",
        title: columns.next,
        width: "w-s",
        rank: 2,
        isWide: true,
        class: "is-soft",
        sort: (row) => Date.parse(row.next_run ?? ""),
        cell: (row) =>
          row.enabled === false
            ? badge(words.paused, "warn", "pause")
            : row.next_run
              ? timeElement(row.next_run)
              : words.none,
      },
      {
        id: "last",
        title: columns.last,
        width: "w-s",
        sort: (row) => Date.parse(row.last_run ?? ""),
        cell: (row) => make("span", { title: visibleText(row.last_error ?? "") }, statusBadge(row.last_status)),
      },
      {
        id: "actions",
        title: columns.actions,
        width: "w-xs",
        isSpoken: true,
        class: "is-actions",
        cell: (row) => actions(context, row, changed),
      },
    ],
  });
}

/** @param {import("../../context.js").Context} context @param {Job} row @param {() => void} changed */
function actions(context, row, changed) {
  const label = words.actionsFor(visibleText(row.job_id));
  return rowMenu(label, () => jobActions(context, row, { changed, gone: changed }));
}
