// Describes jobs, and the actions on one.

import { badge } from "../shared/controls.js";
import { confirmDialog } from "../shared/dialog.js";
import { exactly } from "../shared/time.js";
import { schedulerWords as words } from "../texts/scheduler.js";
import { act } from "./act.js";

/** @import { Context } from "./context.js" */
/** @import { MenuItem } from "../shared/menu.js" */

export const jobsPath = "/api/scheduler?limit=1000";

/** Loads the jobs of all further pages. @param {Context} context @param {string | null | undefined} cursor */
export async function furtherJobs(context, cursor) {
  const jobs = /** @type {any[]} */ ([]);
  while (cursor) {
    const page = await context.request(`${jobsPath}&cursor=${encodeURIComponent(cursor)}`);
    jobs.push(...page.jobs);
    cursor = page.next_cursor;
  }
  return jobs;
}

/** @param {string} id @param {string} [rest] */
export const jobPath = (id, rest = "") => `/api/scheduler/jobs/${encodeURIComponent(id)}${rest}`;

/** @param {any} job */
export const whatWords = (job) => [job.sop_name && words.sop(job.sop_name), job.prompt].filter(Boolean).join(": ");

/** @param {any} job */
export const whenWords = (job) => job.cron ?? (job.run_at ? `${words.once}, ${exactly(job.run_at)}` : words.none);

/** @param {string | null} status */
export function statusBadge(status) {
  if (!status) return badge(words.never);
  const { label, tone, icon } = words.statuses[status] ?? { label: status, tone: /** @type {const} */ (""), icon: "info" };
  return badge(label, tone, icon);
}

/**
 * @param {Context} context @param {any} job @param {{changed: () => void, gone: () => void}} after
 * @returns {MenuItem[]}
 */
export function jobActions(context, job, { changed, gone }) {
  const remove = async () => {
    if (await confirmDialog({ title: words.removeTitle, text: words.removeBody(job.job_id), action: words.remove })) await act(() => context.request(jobPath(job.job_id), { method: "DELETE" }), words.removed, gone);
  };
  /** @type {MenuItem[]} */
  const items = [{ label: words.run, icon: "play", press: () => void act(() => context.request(jobPath(job.job_id, "/run"), { method: "POST" }), words.started, changed) }];
  const pause = (/** @type {boolean} */ enabled) => act(() => context.request(jobPath(job.job_id), { method: "PATCH", body: { enabled } }), enabled ? words.wasResumed : words.wasPaused, changed);
  if (job.enabled === false) items.push({ label: words.resume, icon: "play", press: () => void pause(true) });
  else items.push({ label: words.pause, icon: "pause", press: () => void pause(false) });
  if (job.origin !== "config") items.push({ label: words.remove, icon: "trash", danger: true, press: () => void remove() });
  return items;
}
