// The first panel: what needs attention, what waits for the owner, the figures of today, who said something last, and what
// runs next. Every part has its place from the start, so that nothing moves while the answers come in.

import { staleNote, errorState } from "../../components/state.js";
import { button } from "../../shared/controls.js";
import { fill, make } from "../../shared/dom.js";
import { texts } from "../../texts.js";
import { overviewWords as words } from "../../texts/overview.js";
import { shell } from "../../texts/shell.js";
import { approvalList } from "../approvals.js";
import { approvalsPath } from "../approvals-path.js";
import { budgetPath, statusPath } from "../facts.js";
import { overviewCards } from "../overview-cards.js";
import { fineRow, jobRow, keyedList, logLines, nextJobs, only, sessionRow, troubleRow } from "../overview-lists.js";
import { sectionHead } from "../pieces.js";
import { troubles } from "../problems.js";

const paths = {
  usage: "/api/usage?days=14",
  ready: "/api/ready",
  features: "/api/features",
  jobs: "/api/scheduler",
  sessions: "/api/sessions?limit=50",
  sops: "/api/sops",
  outbox: "/api/outbox?state=failed&limit=1",
  errors: "/api/logs?level=error&limit=50",
  logs: "/api/logs?level=info&limit=6",
};

/** What an event of a topic makes old. @type {Record<string, string[]>} */
const touched = {
  usage: [paths.usage],
  sessions: [paths.sessions],
  messages: [paths.sessions],
  scheduler: [paths.jobs],
  logs: [paths.logs, paths.errors],
};

/** @type {import("../panels.js").Mount} */
export function mount(root, context) {
  const { store } = context;
  const value = (/** @type {string} */ path) => store.get(path)?.value;
  const all = [statusPath, approvalsPath, ...Object.values(paths)];
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
  const showTroubles = keyedList(attention, (entry) => (entry.isFine ? fineRow() : troubleRow(entry)), (entry) => entry.title ?? "fine");
  const showRecent = keyedList(recent, sessionRow, (session) => session.session_id);
  const showPlanned = keyedList(planned, jobRow, (job) => job.job_id);

  const draw = () => {
    const status = store.get(statusPath);
    if (!status?.value && status?.problem) {
      const again = button({ label: shell.retry, icon: "retry", look: "button-small", press: refresh });
      fill(stale, errorState({ title: texts.dashboard.statusFailed, text: status.problem.message, action: again }));
    } else fill(stale, status?.problem && status.problem.status !== 0 ? staleNote(status.problem.message, status.at, refresh) : null);
    cards.showState(status, value(paths.sessions));
    cards.showUsage(value(paths.usage));
    const unready = store.get(paths.ready)?.problem;
    const known = { status: value(statusPath), unready: unready?.status === 503 ? unready.message : "", usage: value(paths.usage), features: value(paths.features), jobs: value(paths.jobs), outbox: value(paths.outbox), sops: value(paths.sops), errors: value(paths.errors) };
    if (known.status && known.features) {
      const found = troubles(known, Date.now());
      showTroubles(found.length > 0 ? found : [{ isFine: true }]);
    }
    only(asked, approvalList(store, cardsOf));
    const sessions = value(paths.sessions)?.sessions;
    if (sessions) {
      showRecent(sessions.slice(0, 6));
      only(activity, sessions.length > 0 ? recent : emptyLine(words.noActivity, "/", words.sayHello));
    }
    const jobs = value(paths.jobs);
    if (jobs) {
      const soonest = nextJobs(jobs, 6);
      showPlanned(soonest);
      only(next, soonest.length > 0 ? planned : emptyLine(jobs.enabled ? words.noJobs : words.jobsOff, "#/scheduler/new", words.addJob));
    }
    logs.show(value(paths.logs)?.records ?? []);
  };

  fill(
    root,
    stale,
    make(
      "div",
      { class: "stack" },
      make("section", { class: "attention" }, make("h2", { class: "visually-hidden" }, words.problems), attention),
      make("section", {}, make("h2", { class: "visually-hidden" }, words.service), cards.state),
      make("section", {}, sectionHead(words.today, make("span", { class: "field-hint" }, words.todayHint)), cards.today),
      make("section", {}, sectionHead(texts.dashboard.waiting, make("a", { href: "#/approvals" }, texts.dashboard.approvals)), asked),
      make("div", { class: "halves" }, make("section", {}, sectionHead(words.activity, make("a", { href: "#/sessions" }, words.allSessions)), activity), make("section", {}, sectionHead(words.next, make("a", { href: "#/scheduler" }, words.allJobs)), next)),
      make("section", {}, sectionHead(texts.dashboard.latest, make("a", { href: "#/logs" }, texts.dashboard.allLogs)), logs.element),
    ),
  );
  let isPlanned = false;
  store.addEventListener("change", () => {
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      if (!context.signal.aborted) draw();
    });
  }, { signal: context.signal });
  draw();
  for (const path of all) if (path !== statusPath && path !== approvalsPath) void store.load(path);
  store.soon(budgetPath);
  const timer = setInterval(() => !document.hidden && context.isLive() && [paths.ready, paths.features, paths.outbox].forEach((path) => store.soon(path)), 30000);
  return { refresh, live: (topic) => touched[topic]?.forEach((path) => store.soon(path)), unmount: () => clearInterval(timer) };
}

/** @param {string} text @param {string} href @param {string} action */
function emptyLine(text, href, action) {
  return make("p", { class: "quiet" }, `${text} `, make("a", { href }, action));
}
