// The current problems, worst first, each with a remedy. Pure: derived from API answers.

import { at } from "../../../shared/base.js";
import { counted, fixed } from "../../../shared/count.js";
import { overviewWords as words } from "../../../texts/overview.js";
import { hrefOf } from "../../route.js";

/** @import { Approvals, Feature, Features, Job, JobList, LogRecord, Logs } from "../../../wire/api.js" */
/** @import { Outbox, SopList, Status, UsageReport } from "../../../wire/api.js" */

/**
 * @typedef {{tone: "bad" | "warn", title: string, text: string, href?: string, action?: string}} Trouble
 * @typedef {{status?: Status, unready?: string, usage?: UsageReport, features?: Features, jobs?: JobList,
 *   outbox?: Outbox, sops?: SopList, errors?: Logs, approvals?: Approvals}} Known
 */

const HOUR = 3600000;

/** @param {Known} known @param {number} now @returns {Trouble[]} */
export function troubles({ status, unready, usage, features, jobs, outbox, sops, errors, approvals }, now) {
  /** @type {(Trouble | false | undefined | "")[]} */
  const found = [
    unready && { tone: "bad", title: words.notReady, text: unready },
    status?.model_ready === false && {
      tone: "bad",
      title: words.noModel,
      text: status.model_hint ?? "",
      href: hrefOf("config", ["model.api_key"]),
      action: words.showModel,
    },
    usage?.budget?.state === "exhausted" && {
      tone: "bad",
      title: words.budgetGone,
      text: words.budgetGoneRemedy,
      href: "#/usage",
      action: words.showBudget,
    },
    // On a phone, the approvals themselves are below the figures.
    approvals &&
      approvals.approvals?.length > 0 && {
        tone: "warn",
        title: words.asked(approvals.approvals.length),
        text: "",
        href: "#/approvals",
        action: words.answer,
      },
    ...(features?.features ?? [])
      .filter(
        (/** @type {Feature} */ feature) =>
          feature.state === "degraded" && feature.id !== "model" && feature.id !== "budget",
      )
      .map(failing),
    ...(jobs?.jobs ?? []).flatMap(failedJob),
    outbox &&
      outbox.count > 0 && {
        tone: "bad",
        title: words.undelivered(outbox.count),
        text: words.undeliveredRemedy,
        href: "#/channels",
        action: words.showDeliveries,
      },
    ...loggedErrors(errors, now),
    sops &&
      sops.broken?.length > 0 && {
        tone: "warn",
        title: words.brokenSops(sops.broken.length),
        text: sops.broken[0].faults?.[0]?.message ?? "",
        href: "#/sops",
        action: words.showSops,
      },
    usage?.budget?.state === "warn" && {
      tone: "warn",
      title: words.budgetWarn,
      text: "",
      href: "#/usage",
      action: words.showBudget,
    },
    status?.demo && { tone: "warn", title: words.demo, text: words.demoRemedy, href: at("/"), action: words.toChat },
  ];
  const kept = /** @type {Trouble[]} */ (found.filter(Boolean));
  return kept.sort((one, other) => Number(other.tone === "bad") - Number(one.tone === "bad"));
}

/** @param {Feature} feature @returns {Trouble} */
const failing = (feature) => ({
  tone: "bad",
  title: words.failing(feature.title),
  text: feature.detail ?? "",
  href: hrefOf("config", [], { q: feature.config_key }),
  action: words.showKey,
});

/** @param {Job} job @returns {Trouble[]} */
function failedJob(job) {
  if (job.last_status !== "error" && job.last_status !== "missed") return [];
  const isMissed = job.last_status === "missed";
  return [
    {
      tone: isMissed ? "warn" : "bad",
      title: isMissed ? words.jobMissed(job.job_id) : words.jobFailed(job.job_id),
      text: job.last_error ?? "",
      href: hrefOf("scheduler", [job.job_id]),
      action: words.showJob,
    },
  ];
}

/** @param {Logs | undefined} errors @param {number} now @returns {Trouble[]} */
function loggedErrors(errors, now) {
  const recent = (errors?.records ?? []).filter(
    (/** @type {LogRecord} */ record) => now - Date.parse(record.ts) < HOUR,
  );
  return recent.length > 0
    ? [
        {
          tone: "warn",
          title: words.errorsLogged(recent.length),
          text: recent[0].message ?? "",
          href: "#/logs",
          action: words.showLogs,
        },
      ]
    : [];
}

/** A share in percent, with enough digits that a small one is not shown as zero. @param {number} part @param {number} whole */
export function share(part, whole) {
  if (!(whole > 0) || !(part > 0)) return "0 %";
  const percent = (part / whole) * 100;
  return percent < 0.1 ? `< ${fixed(0.1, 1)} %` : `${percent < 10 ? counted(Number(percent.toFixed(1))) : Math.round(percent)} %`;
}
