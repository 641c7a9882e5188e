// The lists of the overview: what needs attention, recent conversations, upcoming jobs, and the newest log lines. Unchanged rows
// are kept.

import { badge, button } from "../../../shared/controls.js";
import { arrange, fill, make } from "../../../shared/dom.js";
import { icon } from "../../../shared/icons.js";
import { sentence } from "../../../shared/sentence.js";
import { timeElement } from "../../../shared/time.js";
import { visible } from "../../../shared/visible.js";
import { texts } from "../../../texts.js";
import { overviewWords as words } from "../../../texts/overview.js";
import { sessionWords } from "../../../texts/sessions.js";
import { shell } from "../../../texts/shell.js";
import { whatWords } from "../../jobs.js";
import { hrefOf } from "../../route.js";
import { titleOf } from "../../session-actions.js";

/** @import { Job, JobList, LogRecord, Session } from "../../../wire/api.js" */

/**
 * A list that redraws a row only if its content has changed.
 * @template [Entry=unknown]
 * @param {HTMLElement} element @param {(entry: Entry) => HTMLElement} draw @param {(entry: Entry) => string} key
 */
export function keyedList(element, draw, key) {
  /** @type {Map<string, {says: string, row: HTMLElement}>} */ let rows = new Map();
  return (/** @type {Entry[]} */ entries) => {
    const before = rows;
    rows = new Map();
    for (const entry of entries) {
      let name = key(entry);
      while (rows.has(name)) name += "+";
      const says = JSON.stringify(entry);
      const known = before.get(name);
      rows.set(name, known?.says === says ? known : { says, row: draw(entry) });
    }
    arrange(
      element,
      [...rows.values()].map(({ row }) => row),
    );
  };
}

/** @param {import("./problems.js").Trouble & {isRetry?: boolean}} trouble @param {() => void} retry */
export function troubleRow({ tone, title, text, href, action, isRetry }, retry) {
  return make(
    "li",
    { class: "trouble", data: { tone } },
    icon(tone === "bad" ? "alert" : "info"),
    make(
      "div",
      { class: "trouble-body" },
      make("p", { class: "trouble-title" }, ...sentence(title)),
      text && make("p", { class: "trouble-text" }, ...sentence(text)),
    ),
    href && make("a", { class: "button button-small", href }, action),
    isRetry && button({ label: shell.retry, icon: "retry", look: "button-small", press: retry }),
  );
}

export function fineRow() {
  return make(
    "li",
    { class: "trouble", data: { tone: "good" } },
    icon("check"),
    make("div", { class: "trouble-body" }, make("p", { class: "trouble-title" }, words.fine)),
  );
}

/** @param {Session} session */
export function sessionRow(session) {
  const state = session.busy
    ? badge(sessionWords.busy, "accent", "clock")
    : make("span", { class: "is-soft" }, session.channel);
  return make(
    "li",
    { class: "brief-row" },
    make("a", { class: "row-link", href: hrefOf("sessions", [session.session_id]) }, ...visible(titleOf(session))),
    state,
    timeElement(session.updated_at, "is-soft"),
  );
}

/** @param {Job} job */
export function jobRow(job) {
  return make(
    "li",
    { class: "brief-row" },
    make("a", { class: "row-link", href: hrefOf("scheduler", [job.job_id]) }, ...visible(job.job_id)),
    make("span", { class: "is-soft brief-what" }, ...visible(whatWords(job))),
    timeElement(job.next_run ?? "", "is-soft"),
  );
}

/** The next runs of all jobs, soonest first. @param {JobList} jobs @param {number} most */
export function nextJobs(jobs, most) {
  return (jobs?.jobs ?? [])
    .filter((/** @type {Job} */ job) => job.next_run && job.enabled !== false)
    .sort(
      (/** @type {Job} */ one, /** @type {Job} */ other) =>
        Date.parse(one.next_run ?? "") - Date.parse(other.next_run ?? ""),
    )
    .slice(0, most);
}

const tones = /** @type {Record<string, "bad" | "warn" | "">} */ ({ error: "bad", warn: "warn" });

/** The newest log lines as a table. */
export function logLines() {
  const head = make("tr", {}, ...texts.dashboard.logColumns.map((title) => make("th", { scope: "col" }, title)));
  const lines = make("tbody", {});
  const element = make(
    "div",
    { class: "log-box", role: "group", tabindex: "0", "aria-label": texts.dashboard.logs },
    make("table", { class: "log-table" }, make("thead", {}, head), lines),
  );
  const show = keyedList(lines, logRow, (record) => `${record.ts} ${record.target} ${record.message}`);
  return { element, show };
}

/** In the page's font: the monospaced one is 40 KB, and would be loaded for this alone. @param {LogRecord} record */
function logRow({ ts, level, target, message, fields }) {
  const word = String(level ?? "").toLowerCase();
  const extra = Object.entries(fields ?? {}).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return make(
    "tr",
    {},
    make("td", {}, timeElement(ts)),
    make("td", {}, badge(word, tones[word] ?? "", tones[word] ? "alert" : "")),
    make("td", { class: "log-target" }, ...visible(String(target ?? ""))),
    make(
      "td",
      {},
      ...visible(String(message ?? "")),
      extra.length > 0 && make("span", { class: "log-fields" }, ...visible(extra.join("  "))),
    ),
  );
}

/** @param {HTMLElement} host @param {Node} node */
export function only(host, node) {
  if (host.firstChild !== node || host.childNodes.length > 1) fill(host, node);
}
