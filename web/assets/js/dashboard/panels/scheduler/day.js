// The next 24 hours: which job runs when, by the hour. A job that runs so often that its known runs do not reach through the day
// stands in a line of its own, with its schedule in words.

import { now } from "../../../shared/clock.js";
import { fill, make } from "../../../shared/dom.js";
import { locale } from "../../../shared/language.js";
import { visible } from "../../../shared/visible.js";
import { schedulerWords } from "../../../texts/scheduler.js";
import { hrefOf } from "../../route.js";
import { whenWords } from "../../jobs.js";

/** @import { Job } from "../../../wire/api.js" */
/** @typedef {{at: number, job: string}} Run */

const words = schedulerWords.day;
const DAY = 86400000;
const HOUR = 3600000;
/** How many upcoming runs the server tells of a job. */
const AHEAD = 5;
/** How many runs of an hour are shown. */
const MOST = 12;

/**
 * The runs of the next 24 hours by the hour, and the jobs that run too often to be listed.
 * @param {Job[]} jobs @param {number} from
 */
export function dayOf(jobs, from) {
  /** @type {Map<number, Run[]>} */ const hours = new Map();
  const often = [];
  for (const job of jobs) {
    if (job.enabled === false) continue;
    const times = (job.next_runs ?? [job.next_run])
      .map((at) => Date.parse(at ?? ""))
      .filter((at) => at >= from && at < from + DAY);
    if (job.cron && times.length >= AHEAD) {
      often.push(job);
      continue;
    }
    for (const at of times) {
      // The hours of the viewer, which need not begin with those of the world.
      const hour = new Date(at).setMinutes(0, 0, 0);
      const runs = hours.get(hour) ?? [];
      runs.push({ at, job: job.job_id });
      hours.set(hour, runs);
    }
  }
  for (const runs of hours.values()) runs.sort((one, other) => one.at - other.at || one.job.localeCompare(other.job));
  return { hours: [...hours].sort(([one], [other]) => one - other), often };
}

export function dayView() {
  const body = make("div", {});
  const element = make("details", { class: "scheduler-day", hidden: true }, make("summary", {}, words.title), body);
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat(locale, { weekday: "short" });
  const link = (/** @type {string} */ job) => make("a", { href: hrefOf("scheduler", [job]) }, ...visible(job));
  let said = "";
  /** @param {Job[]} jobs */
  const show = (jobs) => {
    element.hidden = jobs.length === 0;
    const from = now();
    const { hours, often } = dayOf(jobs, from);
    const says = JSON.stringify([Math.floor(from / HOUR), hours, often.map((job) => [job.job_id, job.cron])]);
    if (says === said) return;
    said = says;
    const today = new Date(from).getDay();
    const rows = hours.map(([hour, runs]) => {
      const at = new Date(hour);
      const name = at.getDay() === today ? clock.format(at) : `${day.format(at)} ${clock.format(at)}`;
      return make(
        "li",
        {},
        make("p", { class: "day-hour" }, name),
        make(
          "ul",
          { class: "day-runs", role: "list" },
          ...runs
            .slice(0, MOST)
            .map((run) =>
              make(
                "li",
                {},
                make("time", { class: "is-soft", datetime: new Date(run.at).toISOString() }, clock.format(run.at)),
                " ",
                link(run.job),
              ),
            ),
          runs.length > MOST && make("li", { class: "is-soft" }, words.more(runs.length - MOST)),
        ),
      );
    });
    const lines = often
      .slice(0, MOST)
      .map((job) => make("li", {}, link(job.job_id), " ", make("span", { class: "is-soft" }, ...visible(whenWords(job)))));
    if (often.length > MOST) lines.push(make("li", { class: "is-soft" }, words.more(often.length - MOST)));
    fill(
      body,
      rows.length === 0 && lines.length === 0 && make("p", { class: "quiet" }, words.none),
      rows.length > 0 && make("ol", { class: "day-hours", role: "list" }, ...rows),
      lines.length > 0 &&
        make("section", { "aria-label": words.often }, make("p", { class: "day-hour" }, words.often), make("ul", { class: "day-runs", role: "list" }, ...lines)),
    );
  };
  return { element, show };
}
