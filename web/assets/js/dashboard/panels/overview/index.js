// The first panel: what needs attention, what waits for the owner, today's figures, recent conversations, and upcoming jobs. It
// is shown once every answer is there, or after a moment without some, so that nothing moves as they arrive.

import { at } from "../../../shared/base.js";
import { staleNote, errorState } from "../../../components/state.js";
import { now as serverNow } from "../../../shared/clock.js";
import { button, skeleton } from "../../../shared/controls.js";
import { fill, make } from "../../../shared/dom.js";
import { pause } from "../../../shared/pause.js";
import { texts } from "../../../texts.js";
import { overviewWords as words } from "../../../texts/overview.js";
import { shell } from "../../../texts/shell.js";
import { approvalList } from "../../approvals.js";
import { approvalsPath } from "../../approvals-path.js";
import { budgetPath } from "../../facts.js";
import { jobsPath } from "../../jobs.js";
import { statusPath } from "../../../shared/status-path.js";
import { overviewCards } from "./cards.js";
import { fineRow, jobRow, keyedList, logLines, nextJobs, only, sessionRow, troubleRow } from "./lists.js";
import { sectionHead } from "../../cards.js";
import { troubles } from "./problems.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { Features, Logs, Outbox, Ready, SessionList, SopList, Telemetry, UsageReport } from "../../../wire/api.js" */
/** @import { Trouble } from "./problems.js" */

/** A problem, or that there is none. @typedef {(Trouble & {isRetry?: boolean}) | {isFine: true}} Shown */

export const paths = {
  usage: /** @type {Path<UsageReport>} */ ("/api/usage?days=14"),
  ready: /** @type {Path<Ready>} */ ("/api/ready"),
  features: /** @type {Path<Features>} */ ("/api/features"),
  jobs: jobsPath,
  sessions: /** @type {Path<SessionList>} */ ("/api/sessions?limit=50"),
  sops: /** @type {Path<SopList>} */ ("/api/sops"),
  outbox: /** @type {Path<Outbox>} */ ("/api/outbox?state=failed&limit=1"),
  errors: /** @type {Path<Logs>} */ ("/api/logs?level=error&limit=50"),
  telemetry: /** @type {Path<Telemetry>} */ ("/api/telemetry?limit=1&days=14"),
  logs: /** @type {Path<Logs>} */ ("/api/logs?level=info&limit=6"),
};

/** How long the spending counts as fresh: while the page starts, it was asked for only just now. */
const freshMs = 5000;

/** The data that an event of each topic makes stale. @type {Record<string, string[]>} */
const touched = {
  usage: [paths.usage],
  sessions: [paths.sessions],
  messages: [paths.sessions],
  scheduler: [paths.jobs],
  logs: [paths.logs, paths.errors],
};

/** Data kept up to date by events only: an event between the answer and the connection would be missed for good. */
const livePaths = [...new Set([...Object.values(touched).flat(), paths.telemetry])];

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const { store } = context;
  /** @template [Answer=unknown] @param {Path<Answer>} path */
  const value = (path) => store.get(path)?.value;
  /** @type {string[]} */ const all = [statusPath, approvalsPath, ...Object.values(paths)];
  const refresh = () => all.forEach((path) => store.soon(path));
  const cards = overviewCards();
  const stale = make("div", { role: "status" });
  const attention = make("ul", { class: "troubles", role: "list" });
  const asked = make("div", { class: "asked" });
  const cardsOf = make("div", { class: "stack" });
  const activity = make("div", { class: "card brief-card" });
  const next = make("div", { class: "card brief-card" });
  const recent = make("ul", { class: "brief", role: "list" });
  const planned = make("ul", { class: "brief", role: "list" });
  const logs = logLines();
  // Created once: a link recreated with each answer would lose the focus.
  const blank = {
    activity: emptyLine(words.noActivity, at("/"), words.sayHello),
    noJobs: emptyLine(words.noJobs, "#/scheduler/new", words.addJob),
    jobsOff: emptyLine(words.jobsOff, "#/scheduler/new", words.addJob),
  };
  const showTroubles = keyedList(
    attention,
    (/** @type {Shown} */ entry) => ("isFine" in entry ? fineRow() : troubleRow(entry, refresh)),
    (entry) => ("isFine" in entry ? "fine" : entry.title),
  );
  const showRecent = keyedList(recent, sessionRow, (session) => session.session_id);
  const showPlanned = keyedList(planned, jobRow, (job) => job.job_id);

  const drawState = () => {
    const status = store.get(statusPath);
    if (!status?.value && status?.problem) {
      const again = button({ label: shell.retry, icon: "retry", look: "button-small", press: refresh });
      fill(stale, errorState({ title: texts.dashboard.statusFailed, text: status.problem.message, action: again }));
    } else
      fill(
        stale,
        status?.problem && status.problem.status !== 0 ? staleNote(status.problem.message, status.at, refresh) : null,
      );
    cards.showState(status, value(paths.sessions));
  };
  const drawToday = () => {
    cards.showUsage(value(paths.usage));
    cards.showMeasured(value(paths.telemetry));
  };
  const drawTroubles = () => {
    const unready = store.get(paths.ready)?.problem;
    const known = {
      status: value(statusPath),
      unready: unready?.status === 503 ? unready.message : "",
      usage: value(paths.usage),
      features: value(paths.features),
      jobs: value(paths.jobs),
      outbox: value(paths.outbox),
      sops: value(paths.sops),
      errors: value(paths.errors),
      approvals: value(approvalsPath),
    };
    /** @type {string[]} */ const every = Object.values(paths);
    const lost = every.filter((path) => path !== paths.ready && isLost(store.get(path)));
    /** @type {Shown[]} */
    const found = troubles(known, serverNow());
    if (lost.length > 0) {
      const text = store.get(lost[0])?.problem?.message ?? "";
      found.unshift({ tone: "bad", title: words.lost(lost.length), text, isRetry: true });
    }
    showTroubles(found.length > 0 ? found : [{ isFine: true }]);
  };
  const drawLists = () => {
    only(asked, approvalList(store, cardsOf));
    const sessions = value(paths.sessions)?.sessions;
    if (sessions) {
      showRecent(sessions.slice(0, 6));
      only(activity, sessions.length > 0 ? recent : blank.activity);
    } else if (isLost(store.get(paths.sessions))) only(activity, make("p", { class: "quiet" }, words.notLoaded));
    const jobs = value(paths.jobs);
    if (jobs) {
      const soonest = nextJobs(jobs, 6);
      showPlanned(soonest);
      only(next, soonest.length > 0 ? planned : jobs.enabled ? blank.noJobs : blank.jobsOff);
    } else if (isLost(store.get(paths.jobs))) only(next, make("p", { class: "quiet" }, words.notLoaded));
    logs.show(value(paths.logs)?.records ?? []);
  };
  const parts = [drawState, drawToday, drawTroubles, drawLists];

  const whole = make("div", {}, stale, layout({ attention, cards, asked, activity, next, logs: logs.element }));
  let isPlanned = false;
  let isLate = false;
  let isBegun = false;
  const paint = () => {
    if (whole.isConnected) return parts.forEach((draw) => draw());
    // Drawn once for all first answers, instead of invisibly for each.
    if (!isBegun && (isLate || all.every((path) => store.get(path)))) void begin();
  };
  // The first time everything is new, which would block a phone for too long in one go.
  const begin = async () => {
    isBegun = true;
    for (const draw of parts) {
      draw();
      await pause();
      if (context.signal.aborted) return;
    }
    fill(root, whole);
    // Shows what arrived meanwhile.
    requestAnimationFrame(() => !context.signal.aborted && paint());
  };
  const patience = setTimeout(() => {
    isLate = true;
    paint();
  }, 2500);
  fill(root, skeleton(8));
  store.addEventListener(
    "change",
    () => {
      if (isPlanned) return;
      isPlanned = true;
      requestAnimationFrame(() => {
        isPlanned = false;
        if (!context.signal.aborted) paint();
      });
    },
    { signal: context.signal },
  );
  // On return, shows the known data at once, and then the new.
  if (all.every((path) => store.get(path))) {
    fill(root, whole);
    paint();
  }
  for (const path of all) if (path !== statusPath && path !== approvalsPath) void store.load(path);
  // On return from another panel, the spending must agree with the top line.
  const spending = store.get(budgetPath);
  if (context.isLive() && spending && Date.now() - spending.at > freshMs) store.soon(budgetPath);
  const timer = setInterval(
    () =>
      !document.hidden &&
      context.isLive() &&
      [paths.ready, paths.features, paths.outbox].forEach((path) => store.soon(path)),
    30000,
  );
  // Telemetry is published at once but stored in batches, twice a second; figures requested sooner would lack it.
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let late;
  const measured = () => {
    late ??= setTimeout(() => {
      late = undefined;
      store.soon(paths.telemetry);
    }, 800);
  };
  return {
    refresh: (isNew) => (isNew ? livePaths.forEach((path) => store.soon(path)) : refresh()),
    live: (...[topic]) => (topic === "telemetry" ? measured() : touched[topic]?.forEach((path) => store.soon(path))),
    unmount: () => {
      clearTimeout(late);
      clearInterval(timer);
      clearTimeout(patience);
    },
  };
}

/**
 * Whether a request failed without an earlier answer; a route missing in this build does not count.
 * @param {import("../../store.js").Held | undefined} held
 */
const isLost = (held) => Boolean(held?.problem && held.value === undefined && held.problem.status !== 404);

/**
 * Arranges the parts.
 * @param {{attention: Node, cards: {hero: Node, rest: Node}, asked: Node, activity: Node, next: Node, logs: Node}} pieces
 */
function layout({ attention, cards, asked, activity, next, logs }) {
  const to = (/** @type {string} */ href, /** @type {string} */ label) => make("a", { href }, label);
  return make(
    "div",
    { class: "stack" },
    make("section", { class: "attention" }, make("h2", { class: "visually-hidden" }, words.problems), attention),
    make("section", {}, sectionHead(words.today, make("span", { class: "field-hint" }, words.todayHint)), cards.hero),
    make("section", {}, make("h2", { class: "visually-hidden" }, words.service), cards.rest),
    make("section", {}, sectionHead(texts.dashboard.waiting, to("#/approvals", texts.dashboard.approvals)), asked),
    make(
      "div",
      { class: "halves" },
      make("section", {}, sectionHead(words.activity, to("#/sessions", words.allSessions)), activity),
      make("section", {}, sectionHead(words.next, to("#/scheduler", words.allJobs)), next),
    ),
    make("section", {}, sectionHead(texts.dashboard.latest, to("#/logs", texts.dashboard.allLogs)), logs),
  );
}

/** @param {string} text @param {string} href @param {string} action */
function emptyLine(text, href, action) {
  return make("p", { class: "quiet" }, `${text} `, make("a", { href }, action));
}
