// Live Company: a drawn office in which every agent is where it works, and a list that says the same in words. Both follow the
// events of the dashboard's socket; the API provides the initial state.

import { fill, make } from "../../../shared/dom.js";
import { locale } from "../../../shared/language.js";
import { icon } from "../../../shared/icons.js";
import { Problem } from "../../../shared/api.js";
import { statusPath } from "../../../shared/status-path.js";
import { timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { company as words } from "../../../texts/company.js";
import { errorState } from "../../../components/state.js";
import { button, skeleton } from "../../../shared/controls.js";
import { texts } from "../../../texts.js";
import { mostDesks } from "./floor.js";
import { Office, callFailed, channelOf } from "./office.js";
import { Stage } from "./stage.js";
import { approvalsPath } from "../../approvals-path.js";
import { coalesce } from "../../coalesce.js";

/** @import { Seen } from "./office.js" */

/** The minimum interval between announcements. */
const calmMs = 5000;

/** @import { Path } from "../../../shared/api.js" */
/** @import { AgentList, Channels, JobList, SessionList } from "../../../wire/api.js" */

/** The requests when the panel opens; some routes may be missing in a build. */
const questions = {
  status: statusPath,
  channels: /** @type {Path<Channels>} */ ("/api/channels"),
  agents: /** @type {Path<AgentList>} */ ("/api/agents"),
  approvals: approvalsPath,
  sessions: /** @type {Path<SessionList>} */ ("/api/sessions?limit=100"),
  scheduler: /** @type {Path<JobList>} */ ("/api/scheduler?limit=1000"),
};

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const office = new Office();
  let picked = /** @type {string | null} */ (null);
  let isKnown = false;
  const pick = (/** @type {string} */ id) => {
    picked = picked === id ? null : id;
    stage.mark(picked ?? "");
    show();
    if (picked) document.getElementById(`agent-${picked}`)?.scrollIntoView({ block: "nearest" });
  };
  const stage = new Stage({ pick, signal: context.signal });
  const people = make("ul", { role: "list", class: "company-people" });
  const doors = make("ul", { role: "list", class: "company-doors" });
  const said = make("p", { class: "visually-hidden", role: "status" });
  const more = make("p", { class: "quiet company-more" });
  const failure = make("div", {});
  const figure = make(
    "figure",
    { class: "company-picture" },
    make("figcaption", { class: "visually-hidden" }, words.picture),
    stage.element,
  );
  const lists = [
    make("section", {}, make("h2", {}, words.people), people, more),
    make("section", {}, make("h2", {}, words.doors), doors),
  ];
  const list = make("div", { class: "company-list" }, skeleton(8));
  const layout = make("div", { class: "company" }, figure, list);
  fill(root, failure, layout, said);

  /** @type {ReturnType<typeof setTimeout> | undefined} */ let next;
  const show = () => {
    const now = Date.now();
    const seen = office.seen(now);
    const channels = [...office.channels.values()];
    stage.show({ seen, happenings: office.take(), channels, letters: office.letters, job: office.job });
    for (const agent of seen) entry(people, agent, agent.id === picked, pick);
    more.textContent = seen.length - 1 > mostDesks ? words.more(seen.length - 1 - mostDesks) : "";
    showDoors(doors, office);
    clearTimeout(next);
    const left = office.nextChange(now);
    if (left < Infinity) next = setTimeout(show, left + 50);
    tell(seen);
  };

  // Announces only the newest change of state, at a calm pace.
  const states = new Map();
  let saidAt = 0;
  const tell = (/** @type {Seen[]} */ seen) => {
    const changed = seen.filter((agent) => states.get(agent.id) !== agent.state);
    const urgent = changed.find(({ state }) => state === "waiting" || state === "failed");
    const one = urgent ?? changed[0];
    if (!isKnown || !one || (!urgent && Date.now() - saidAt < calmMs)) return;
    for (const { id, state } of seen) states.set(id, state);
    saidAt = Date.now();
    said.textContent = words.says(nameOf(one), inWords(one));
  };

  const ask = async () => {
    const [status, channels, agents, approvals, sessions, scheduler] = await Promise.all([
      answer(context, questions.status),
      answer(context, questions.channels),
      answer(context, questions.agents),
      answer(context, questions.approvals),
      answer(context, questions.sessions),
      answer(context, questions.scheduler),
    ]);
    if (context.signal.aborted) return;
    const problem = [status, approvals, sessions].find(({ problem: found }) => found)?.problem;
    fill(
      failure,
      problem &&
        errorState({
          title: words.failed,
          text: problem.message,
          action: button({ label: texts.error.again, icon: "retry", press: () => void ask() }),
        }),
    );
    layout.hidden = !!problem && !isKnown;
    if (problem && !isKnown) fill(list);
    if (problem) return;
    office.prime(
      {
        channels: channels.data?.channels ?? status.data?.channels,
        agents: agents.data?.active,
        specialists: agents.data?.agents,
        approvals: approvals.data?.approvals,
        sessions: sessions.data?.sessions,
        scheduler: scheduler.data?.jobs,
      },
      Date.now(),
    );
    const first = !isKnown;
    isKnown = true;
    if (first) {
      fill(list, ...lists);
      for (const { id, state } of office.seen(Date.now())) states.set(id, state);
    }
    show();
    if (first) stage.wake();
  };

  const attend = () => (document.hidden ? stage.sleep() : stage.wake());
  document.addEventListener("visibilitychange", attend, { signal: context.signal });
  context.signal.addEventListener("abort", () => clearTimeout(next));
  show();
  void ask();

  const soon = coalesce(context, 80, show);
  return {
    refresh: () => void ask(),
    live: (...event) => {
      const [topic] = event;
      office.onEvent(...event, Date.now());
      if (topic !== "logs" && topic !== "usage") soon();
    },
  };
}

/**
 * Returns the answer or the problem, or neither if this build lacks the route.
 * @template [Data=unknown]
 * @param {import("../../context.js").Context} context
 * @param {Path<Data>} path
 * @returns {Promise<{data?: Data, problem?: Error}>}
 */
async function answer(context, path) {
  try {
    return { data: await context.request(path) };
  } catch (problem) {
    return problem instanceof Problem && problem.status === 404 ? {} : { problem: /** @type {Error} */ (problem) };
  }
}

/** @param {Seen} agent */
const nameOf = (agent) => visibleText(agent.isMain ? words.main : agent.name);

/** Describes what an agent is doing. @param {Seen} agent */
function inWords({ state, tool, why, isAnswer }) {
  if (isAnswer) return words.answersBy(visibleText(tool));
  if (state === "tool") return words.uses(visibleText(tool));
  if (state === "waiting") return words.waitsFor(visibleText(tool));
  if (why === callFailed) return words.callFailed(visibleText(tool));
  if (state === "failed") return words.whys[why] ?? words.states.failed;
  return words.states[state];
}

const icons = { idle: "check", thinking: "spark", tool: "tool", waiting: "shield", failed: "alert" };

/**
 * The line of an agent, with details below if it is picked. It is created once and kept, so that it can keep the focus.
 * @param {HTMLElement} people @param {Seen} agent @param {boolean} isOpen @param {(id: string) => void} pick
 */
function entry(people, agent, isOpen, pick) {
  const id = `agent-${agent.id}`;
  let item = [...people.children].find((child) => child.id === id);
  if (!item) {
    const line = make("button", {
      type: "button",
      class: "company-person",
      "aria-controls": `${id}-more`,
      on: { click: () => pick(agent.id) },
    });
    item = make("li", { id }, line, make("div", { class: "company-details", id: `${id}-more` }));
    people.append(item);
  }
  const [line, details] = /** @type {[HTMLElement, HTMLElement]} */ ([item.children[0], item.children[1]]);
  const tone = [...people.children].indexOf(item);
  const others = agent.others > 0 ? `, ${words.others(agent.others)}` : "";
  const shown = `${agent.state} ${agent.tool} ${agent.isAnswer} ${agent.others} ${agent.since}`;
  if (item.getAttribute("data-shown") !== shown) {
    item.setAttribute("data-shown", shown);
    item.setAttribute("data-state", agent.state);
    const doing = make(
      "span",
      { class: "company-doing" },
      icon(icons[agent.state]),
      make("span", {}, inWords(agent), others),
    );
    fill(
      line,
      make("span", { class: `company-dot tone-${Math.max(0, tone) % 8}`, "aria-hidden": "true" }),
      make("span", { class: "company-name" }, nameOf(agent)),
      doing,
      icon("chevron", "company-arrow"),
    );
  }
  line.setAttribute("aria-expanded", String(isOpen));
  details.hidden = !isOpen;
  if (isOpen) fill(details, ...about(agent));
}

/** @param {Seen} agent @returns {Node[]} */
function about(agent) {
  const { session, state } = agent;
  const rows = [
    [words.role, agent.isMain ? words.mainRole : visibleText(agent.role)],
    [words.place, words.places[agent.place]],
    agent.task && [words.task, visibleText(agent.task)],
    session && [
      words.conversation,
      make("a", { href: `#/sessions/${encodeURIComponent(session)}` }, visibleText(session)),
    ],
    agent.since > 0 && state !== "idle" && [words.since, timeElement(new Date(agent.since).toISOString())],
    [
      words.lastTool,
      agent.lastTool
        ? make(
            "span",
            {},
            make("span", { class: "mono" }, ...visible(agent.lastTool)),
            " ",
            timeElement(new Date(agent.lastAt).toISOString(), "quiet"),
          )
        : words.noneYet,
    ],
  ];
  const pairs = rows
    .filter(Boolean)
    .flatMap((row) => (row && row[1] ? [make("dt", {}, /** @type {string} */ (row[0])), make("dd", {}, row[1])] : []));
  return [
    make("dl", { class: "pairs" }, ...pairs),
    make(
      "p",
      { class: "company-links" },
      state === "waiting" && make("a", { href: "#/approvals" }, words.decide),
      session && make("a", { href: `#/monitor?session=${encodeURIComponent(session)}` }, words.follow),
      make("a", { href: "#/agents" }, words.history),
    ),
  ];
}

/** @param {HTMLElement} list @param {Office} office */
function showDoors(list, office) {
  const lines = [...office.channels.values()].map(({ name, state, at }) => {
    const age = at > 0 ? words.lastMessage(new Date(at).toLocaleTimeString(locale)) : words.quiet;
    return make(
      "li",
      {},
      icon("leave"),
      make("a", { href: `#/monitor?channel=${encodeURIComponent(channelOf(name))}` }, visibleText(name)),
      make("span", { class: "quiet" }, state === "running" ? age : visibleText(state)),
    );
  });
  const tray = make("li", {}, icon("chat"), make("span", {}, words.inTray(office.letters)));
  const job = make(
    "li",
    {},
    icon("clock"),
    make("a", { href: "#/scheduler" }, office.job ? words.job(visibleText(office.job)) : words.noJob),
  );
  const next = [...lines, tray, job];
  const isSame =
    next.length === list.children.length && next.every((line, index) => line.isEqualNode(list.children[index]));
  if (!isSame) fill(list, ...next);
}
