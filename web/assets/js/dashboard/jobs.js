// Describes jobs, and the actions on one.

import { pageAt } from "../shared/api.js";
import { badge } from "../shared/controls.js";
import { confirmDialog } from "../shared/dialog.js";
import { removeShared } from "../shared/remove-shared.js";
import { exactly } from "../shared/time.js";
import { toast } from "../shared/toast.js";
import { conflictWords } from "../texts/conflict.js";
import { schedulerWords as words } from "../texts/scheduler.js";
import { runAction, failed } from "./run-action.js";
import { asShown } from "./as-shown.js";
import { cronWords } from "./cron-words.js";

/** @import { Context } from "./context.js" */
/** @import { MenuItem } from "../shared/menu.js" */
/** @import { Path } from "../shared/api.js" */
/** @import { Job, JobList, JobRuns } from "../wire/api.js" */

/** @type {Path<JobList>} */
export const jobsPath = "/api/scheduler?limit=1000";

/** Loads the jobs of all further pages. @param {Context} context @param {string | null | undefined} cursor */
export async function furtherJobs(context, cursor) {
  const jobs = /** @type {Job[]} */ ([]);
  while (cursor) {
    const page = await context.request(pageAt(jobsPath, cursor));
    jobs.push(...page.jobs);
    cursor = page.next_cursor;
  }
  return jobs;
}

/** @param {string} id @returns {Path<Job>} */
export const jobPath = (id) => `/api/scheduler/jobs/${encodeURIComponent(id)}`;

/** @param {string} id @param {number} limit @returns {Path<JobRuns>} */
export const jobRunsPath = (id, limit) => `${jobPath(id)}/runs?limit=${limit}`;

/** @param {Job} job */
export const whatWords = (job) => [job.sop_name && words.sop(job.sop_name), job.prompt].filter(Boolean).join(": ");

/** When a job runs, its schedule in words. @param {Job} job */
export const whenWords = (job) =>
  job.cron ? cronWords(job.cron) : job.run_at ? `${words.once}, ${exactly(job.run_at)}` : words.none;

/** @param {string | null} status */
export function statusBadge(status) {
  if (!status) return badge(words.never);
  const { label, tone, icon } = words.statuses[status] ?? {
    label: status,
    tone: /** @type {const} */ (""),
    icon: "info",
  };
  return badge(label, tone, icon);
}

/** The task of a job, without the fields that its runs change. @param {Job} job */
const wanted = (job) =>
  JSON.stringify([
    job.cron,
    job.run_at,
    job.timezone,
    job.sop_name,
    job.prompt,
    job.channel,
    job.recipient,
    job.missed,
    job.retries,
  ]);

/**
 * @param {Context} context @param {Job} job @param {{changed: () => void, gone: () => void}} after
 * @returns {MenuItem[]}
 */
export function jobActions(context, job, { changed, gone }) {
  const isSame = (/** @type {Job} */ present) => wanted(present) === wanted(job);
  const read = () =>
    asShown(context, { path: jobPath(job.job_id), isSame, changed, gone }).catch((problem) => {
      failed(problem);
      return null;
    });
  const remove = async () => {
    const item = await read();
    if (
      item &&
      (await confirmDialog({ title: words.removeTitle, text: words.removeBody(job.job_id), action: words.remove }))
    )
      await runAction(() => removeShared(item, { name: job.job_id, isSame }), words.removed, gone);
  };
  /** @type {MenuItem[]} */
  const items = [
    {
      label: words.run,
      icon: "play",
      press: () =>
        void runAction(() => context.request(`${jobPath(job.job_id)}/run`, { method: "POST" }), words.started, changed),
    },
  ];
  const pause = async (/** @type {boolean} */ enabled) => {
    const item = await read();
    // A job that is another one by now is not set going unseen.
    const send = async () => {
      const sent = await item?.send({ method: "PATCH", body: { enabled } }, { isSame, ask: async () => "theirs" });
      if (sent?.outcome === "saved") return true;
      toast(sent?.data ? conflictWords.shownNow : conflictWords.goneAlready);
      if (!sent?.data) gone();
      return false;
    };
    if (item) await runAction(send, enabled ? words.wasResumed : words.wasPaused, () => undefined);
    changed();
  };
  if (job.enabled === false) items.push({ label: words.resume, icon: "play", press: () => void pause(true) });
  else items.push({ label: words.pause, icon: "pause", press: () => void pause(false) });
  if (job.origin !== "config")
    items.push({ label: words.remove, icon: "trash", danger: true, press: () => void remove() });
  return items;
}
