// A job as the texts of the form's fields, and those as the body of a request.

import { schedulerWords } from "../../../texts/scheduler.js";

/** @import { Job } from "../../../wire/api.js" */
/** @typedef {Record<"task" | "prompt" | "sop_name" | "input" | "when" | "cron" | "timezone" | "run_at" | "channel" | "recipient" |
 *   "missed" | "retries", string>} JobValues */

const words = schedulerWords.form;

/** Formats a date for a `datetime-local` field. @param {Date} date */
export function localText(date) {
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** What the fields say for a new job. @param {{zone: string, channels: string[], now: number}} defaults @returns {JobValues} */
export const freshValues = ({ zone, channels, now }) => ({
  task: "prompt",
  prompt: "",
  sop_name: "",
  input: "",
  when: "cron",
  cron: "0 8 * * *",
  timezone: zone,
  run_at: localText(new Date(now + 3600000)),
  channel: channels.includes("webchat") ? "webchat" : (channels[0] ?? ""),
  recipient: "",
  missed: "skip",
  retries: "0",
});

/** What the fields say for this job. @param {Job} job @param {JobValues} fresh @returns {JobValues} */
export const valuesOf = (job, fresh) => ({
  task: job.sop_name ? "sop" : "prompt",
  prompt: job.sop_name ? "" : (job.prompt ?? ""),
  sop_name: job.sop_name ?? "",
  input: job.sop_name ? (job.prompt ?? "") : "",
  when: job.cron ? "cron" : "once",
  cron: job.cron ?? fresh.cron,
  timezone: job.timezone ?? fresh.timezone,
  run_at: job.run_at ? localText(new Date(job.run_at)) : fresh.run_at,
  channel: job.channel,
  recipient: job.recipient ?? "",
  missed: job.missed,
  retries: String(job.retries ?? 0),
});

/**
 * The body of a request. A change of a job says null for what is to be empty, because what is left out stays.
 * @param {JobValues} values @param {JobValues | null} before what the fields said, for a change
 */
export function bodyOf(values, before) {
  const said = (/** @type {keyof JobValues} */ name) => values[name].trim() || (before ? null : undefined);
  const at = new Date(values.run_at);
  const moment = Number.isNaN(at.getTime()) ? values.run_at : at.toISOString();
  // A time that was not touched keeps its seconds.
  const isSameTime = before?.when === "once" && before.run_at === values.run_at;
  const once = isSameTime ? {} : { run_at: moment || undefined };
  return {
    ...(values.task === "sop"
      ? { sop_name: said("sop_name"), prompt: said("input") }
      : { ...(before ? { sop_name: null } : {}), prompt: said("prompt") }),
    ...(values.when === "once" ? once : { cron: said("cron"), timezone: said("timezone") }),
    channel: said("channel"),
    recipient: said("recipient"),
    missed: said("missed"),
    retries: Number(values.retries),
  };
}

/** The job of these fields as lines, to be compared. @param {JobValues} values */
export function linesOf(values) {
  /** @type {[string, string][]} */
  const lines = [
    ...(values.task === "sop"
      ? /** @type {[string, string][]} */ ([
          [words.sop, values.sop_name],
          [words.input, values.input],
        ])
      : /** @type {[string, string][]} */ ([[words.prompt, values.prompt]])),
    ...(values.when === "once"
      ? /** @type {[string, string][]} */ ([[words.runAt, values.run_at.replace("T", " ")]])
      : /** @type {[string, string][]} */ ([
          [words.cron, values.cron],
          [words.zone, values.timezone],
        ])),
    [words.channel, values.channel],
    [words.recipient, values.recipient],
    [words.missed, schedulerWords.missed[values.missed] ?? values.missed],
    [words.retries, schedulerWords.retries(Number(values.retries))],
  ];
  return lines.map(([name, text]) => `${name}: ${text.trim()}`).join("\n");
}
