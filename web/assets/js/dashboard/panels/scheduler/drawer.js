// One job in a drawer: what it does, its next five runs in the viewer's time zone, and its history; or the form for a new job.

import { openDrawer, pairs } from "../../../components/drawer.js";
import { errorState, state } from "../../../components/state.js";
import { table } from "../../../components/table.js";
import { button, note, skeleton } from "../../../shared/controls.js";
import { fill, make } from "../../../shared/dom.js";
import { duration, exactly, timeElement } from "../../../shared/time.js";
import { visible } from "../../../shared/visible.js";
import { shell } from "../../../texts/shell.js";
import { schedulerWords as words } from "../../../texts/scheduler.js";
import { SharedItem } from "../../../shared/shared-item.js";
import { draftOf, dropDraft } from "../../../shared/draft-store.js";
import { leftDraft } from "../../../shared/draft.js";
import { jobDraft, jobEditor, jobForm } from "./form.js";
import { failed } from "../../run-action.js";
import { jobActions, jobPath, jobRunsPath, statusBadge, whatWords } from "../../jobs.js";
import { hrefOf } from "../../route.js";

/** @import { Context } from "../../context.js" */
/** @import { Job, JobRun } from "../../../wire/api.js" */
/** @import { JobNews } from "../../../wire/frames.js" */

/** @param {Context} context @param {{changed: () => void, closed: () => void}} after */
export function jobDrawer(context, { changed, closed }) {
  let drawer = /** @type {ReturnType<typeof openDrawer> | null} */ (null);
  let shown = "";
  let says = "";
  /** @type {Job[] | null} */ let jobs = null;
  let areRunsLost = false;
  /** The job that could not be read to be edited. */ let refused = "";
  /** Ends the editor that is open. @type {AbortController | null} */ let editing = null;
  const endEditing = () => {
    editing?.abort();
    editing = null;
  };
  context.signal.addEventListener("abort", endEditing);
  const runs = make("div", {}, skeleton(3));
  const history = runTable();

  const close = () => {
    const open = drawer;
    drawer = null;
    shown = "";
    endEditing();
    open?.close();
  };
  const begin = () => {
    drawer ??= openDrawer({
      title: words.job,
      body: [skeleton(4)],
      closed: () => {
        const wasOpen = drawer !== null;
        drawer = null;
        shown = "";
        endEditing();
        if (wasOpen) closed();
      },
    });
    return drawer;
  };

  /** @param {string | undefined} id */
  const open = (id) => {
    if (!id) return close();
    if (shown === id) return;
    shown = id;
    says = "";
    endEditing();
    if (id === "new") {
      begin().show({
        title: words.form.title,
        body: [
          jobForm(context, {
            cancel: () => drawer?.close(),
            done: (job) => {
              changed();
              context.go([job.job_id]);
            },
          }),
        ],
      });
      return;
    }
    begin();
    fill(runs, skeleton(3));
    if (jobs) update(jobs);
    void loadRuns();
  };

  /** @param {Job[]} next */
  const update = (next) => {
    jobs = next;
    if (!drawer || !shown || shown === "new") return;
    if (areRunsLost) void loadRuns();
    // The editor finds out by itself what others do to the job.
    if (editing) return;
    const job = jobs.find((entry) => entry.job_id === shown);
    if (JSON.stringify(job ?? null) === says) return;
    says = JSON.stringify(job ?? null);
    if (!job)
      return drawer.show({
        title: shown,
        body: [
          state({ icon: "search", title: words.missingTitle, text: words.missing }),
          leftDraft(jobDraft(shown), (name) => fieldName(name)),
        ],
      });
    if (job.origin !== "config" && refused !== shown && draftOf(jobDraft(job.job_id))?.isOwn) return void edit(job.job_id);
    drawer.show({
      title: job.job_id,
      body: jobBody(context, job, runs, {
        changed,
        edit: () => void edit(job.job_id),
        gone: () => {
          changed();
          drawer?.close();
        },
      }),
    });
  };

  /** Shows the job again, as it is now. */
  const look = () => {
    endEditing();
    says = "";
    if (jobs) update(jobs);
    changed();
  };
  /** @param {string} id */
  const edit = async (id) => {
    endEditing();
    const mine = new AbortController();
    editing = mine;
    const item = new SharedItem(context.exchange, jobPath(id));
    try {
      await item.read();
    } catch (problem) {
      refused = id;
      if (!mine.signal.aborted) look();
      return failed(problem);
    }
    if (mine.signal.aborted || shown !== id) return;
    const body = jobEditor(context, item, {
      signal: mine.signal,
      cancel: look,
      done: (job) => {
        dropDraft(jobDraft(id));
        jobs = jobs?.map((other) => (other.job_id === job.job_id ? job : other)) ?? null;
        look();
      },
      gone: () => {
        changed();
        drawer?.close();
      },
    });
    drawer?.show({ title: words.form.editTitle(id), body: [body] });
    /** @type {HTMLElement | null} */ (body.querySelector("textarea, select"))?.focus();
  };

  const loadRuns = async () => {
    const id = shown;
    areRunsLost = false;
    try {
      const { runs: list = [] } = await context.request(jobRunsPath(id, 100));
      if (id !== shown) return;
      const view = list.length > 0 ? history.show(list) : make("p", { class: "quiet" }, words.noRuns);
      if (runs.firstChild !== view) fill(runs, view);
    } catch (problem) {
      if (id !== shown) return;
      areRunsLost = true;
      const again = make(
        "div",
        {},
        button({ label: shell.retry, icon: "retry", look: "button-small", press: () => void loadRuns() }),
      );
      fill(
        runs,
        note({
          text: `${words.historyFailed}. ${/** @type {Error} */ (problem).message}`,
          tone: "bad",
          icon: "alert",
          action: again,
        }),
      );
    }
  };
  const onEvent = (/** @type {JobNews} */ data) => {
    if (shown && data.job_id === shown) void loadRuns();
  };
  /** The jobs could not be loaded, so this one cannot be shown. @param {string} message @param {() => void} retry */
  const fail = (message, retry) => {
    if (!drawer || !shown || shown === "new" || jobs) return;
    const again = button({ label: shell.retry, icon: "retry", look: "button-small", press: retry });
    drawer.show({ title: shown, body: [errorState({ title: words.failed, text: message, action: again })] });
  };
  return { open, close, update, onEvent, fail };
}

/** The words of the form's fields, where they are called differently. @type {Record<string, string>} */
const labels = { job_id: "id", sop_name: "sop", timezone: "zone", run_at: "runAt" };

/** What the form calls a field. @param {string} name */
function fieldName(name) {
  const said = /** @type {Record<string, unknown>} */ (words.form)[labels[name] ?? name];
  return typeof said === "string" ? said : name;
}

/**
 * @param {Context} context @param {Job} job @param {HTMLElement} runs
 * @param {{changed: () => void, gone: () => void, edit: () => void}} after
 */
function jobBody(context, job, runs, after) {
  const { details } = words;
  const next = job.next_runs ?? (job.next_run ? [job.next_run] : []);
  const actions = jobActions(context, job, after).map(({ label, icon, danger, press }) =>
    button({ label, icon, look: danger ? "button-danger" : "", press }),
  );
  if (job.origin !== "config") actions.unshift(button({ label: words.edit, icon: "edit", press: after.edit }));
  return [
    job.last_error && note({ title: words.columns.last, text: job.last_error, tone: "bad", icon: "alert" }),
    pairs(
      job.sop_name && [details.sop, make("a", { href: hrefOf("sops", [job.sop_name]) }, ...visible(job.sop_name))],
      job.prompt && [details.prompt, make("span", { class: "job-prompt" }, ...visible(job.prompt))],
      !job.prompt && !job.sop_name && [details.what, whatWords(job)],
      job.cron && [details.cron, make("span", { class: "mono" }, job.cron)],
      job.timezone && [details.zone, job.timezone],
      job.run_at && [details.once, exactly(job.run_at)],
      [details.channel, [job.channel, job.recipient].filter(Boolean).join(", ")],
      [words.columns.last, statusBadge(job.last_status)],
      [details.missed, words.missed[job.missed] ?? job.missed],
      [details.retries, words.retries(job.retries ?? 0)],
      [details.origin, words.origins[job.origin] ?? job.origin],
      job.made_by && [
        details.askedBy,
        job.made_by === "outside" ? words.outside : make("span", {}, ...visible(job.made_by)),
      ],
    ),
    make("div", { class: "dialog-actions" }, ...actions),
    job.origin === "config" && make("p", { class: "field-hint" }, words.fromConfig),
    make(
      "section",
      {},
      make("h3", { class: "section-title" }, words.nextRuns),
      next.length > 0
        ? make(
            "ol",
            { class: "next-runs", role: "list" },
            ...next.map((/** @type {string} */ at) =>
              make("li", {}, make("span", {}, exactly(at)), timeElement(at, "is-soft")),
            ),
          )
        : make("p", { class: "quiet" }, words.noNext),
    ),
    make("section", {}, make("h3", { class: "section-title" }, words.history), runs),
  ].filter(Boolean);
}

function runTable() {
  const columns = words.runColumns;
  return table({
    label: words.history,
    key: (/** @type {JobRun} */ run) => run.run_id,
    columns: [
      {
        id: "started",
        title: columns.started,
        width: "w-s",
        sort: (run) => Date.parse(run.started_at),
        cell: (run) => timeElement(run.started_at),
      },
      {
        id: "status",
        title: columns.status,
        width: "w-s",
        sort: (run) => run.status,
        cell: (run) => statusBadge(run.status),
      },
      {
        id: "took",
        title: columns.took,
        width: "w-s",
        isWide: true,
        class: "is-number",
        sort: (run) => Date.parse(run.ended_at ?? "") - Date.parse(run.started_at),
        cell: (run) => (run.ended_at ? duration(Date.parse(run.ended_at) - Date.parse(run.started_at)) : ""),
      },
      {
        id: "error",
        title: columns.error,
        class: "is-soft",
        cell: (run) =>
          make(
            "span",
            { title: run.error ?? undefined },
            ...visible([run.attempt > 0 && words.attempt(run.attempt), run.error].filter(Boolean).join(": ")),
          ),
      },
    ],
  });
}
