// The agents: who is working on what, multi-turn work, and what each has done, with tools, time and cost.

import { fill, make } from "../../../shared/dom.js";
import { now as serverNow } from "../../../shared/clock.js";
import { badge } from "../../../shared/controls.js";
import { counted } from "../../../shared/count.js";
import { compact, duration, money, timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { texts } from "../../../texts.js";
import { agents as words } from "../../../texts/agents.js";
import { openDrawer, pairs } from "../../../components/drawer.js";
import { searchField, select } from "../../../components/form.js";
import { further } from "../../../components/further.js";
import { region, state } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { exactTime } from "../../exact-time.js";
import { byWork } from "./by-work.js";
import { workSection } from "./work.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { AgentActivity, AgentHistory, AgentList, AgentRun, AgentStanding } from "../../../wire/api.js" */

/**
 * @typedef {{agent_id: string, name: string, role: string, session_id: string, kind: string, parent: string | null,
 *   task: string, outcome: string, error: string | null,
 *   started_at: string, ended_at: string, duration: number, tools: {name: string, calls: number}[], model: string,
 *   input_tokens: number, output_tokens: number,
 *   cached_tokens: number, cost_usd: number}} Run
 */

/** How many runs come with the agents. */
const newest = 500;
/** @type {Path<AgentList>} */ const path = `/api/agents?limit=${newest}`;
/**
 * Older runs. The list of agents names no cursor, so the first time the newest ones come along.
 * @param {string} cursor @returns {Path<AgentHistory>}
 */
const olderPath = (cursor) =>
  `/api/agents/history?${new URLSearchParams(cursor ? { limit: String(newest), cursor } : { limit: String(2 * newest) })}`;
const tones = /** @type {Record<string, ["good" | "warn" | "bad" | "accent" | "", string]>} */ ({
  idle: ["", ""],
  thinking: ["accent", "spark"],
  tool: ["accent", "tool"],
  waiting_approval: ["warn", "shield"],
  failed: ["bad", "alert"],
});

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const { query } = context;
  const wanted = {
    agent: query.get("agent") ?? "",
    outcome: query.get("outcome") ?? "",
    text: query.get("q") ?? "",
    run: context.parts[0] ?? "",
  };
  const now = make("div", { class: "agent-cards agents-now" });
  const idle = make("div", { class: "agent-cards agents-resting" });
  const idleTitle = make("summary", {});
  const resting = make("details", { class: "agents-idle", hidden: true }, idleTitle, idle);
  const nobody = make("p", { class: "quiet", hidden: true }, words.nobody);
  const past = history(wanted, context);
  const work = workSection(context);
  const body = make(
    "div",
    { class: "stack" },
    make("section", {}, heading(words.now), now, nobody),
    work.element,
    resting,
    past.element,
  );
  /** @type {ReturnType<typeof setInterval> | undefined} Runs while somebody works. */ let timer;
  const answers = region(context, {
    path,
    failure: words.failed,
    lines: 10,
    show: ({ active = [], history: runs = [], agents: standing }) => {
      const everyone = standing ?? standingOf(active);
      const [busy, rest] = byWork(everyone, active);
      const only = (/** @type {string} */ agent) => past.only(agent);
      if (everyone.length === 0) fill(now, state({ icon: "spark", title: words.noneTitle, text: words.none }));
      else showCards(now, busy, active, only);
      showCards(idle, rest, active, only);
      nobody.hidden = busy.length > 0 || everyone.length === 0;
      resting.hidden = rest.length === 0;
      idleTitle.textContent = words.resting(rest.length);
      past.show(runs, standing ?? standingOf(active));
      clearInterval(timer);
      if (busy.length > 0 && !context.signal.aborted) timer = setInterval(() => !document.hidden && tick(now), 1000);
      return body;
    },
  });
  fill(root, answers.element);
  context.signal.addEventListener("abort", () => clearInterval(timer));
  return {
    refresh: () => (answers.soon(), work.soon()),
    live: (...[topic]) => topic === "agents" && (answers.soon(), work.soon()),
    route: (parts) => past.open(parts[0] ?? ""),
  };
}

/** @param {string} title */
const heading = (title) => make("div", { class: "section-head" }, make("h2", {}, title));

/** A fallback for an API that lists only active agents. @param {AgentActivity[]} active */
const standingOf = (active) => [
  ...new Map(active.map((one) => [one.name, { name: one.name, role: one.role, model: "", state: one.state }])).values(),
];

/** @param {string} name */
const nameOf = (name) => (name === "main" ? words.main : visibleText(name));

/** @param {string} now @param {string} tool */
function doing(now, tool) {
  if (now === "tool") return words.uses(visibleText(tool));
  if (now === "waiting_approval") return words.waits(visibleText(tool));
  return words.states[now] ?? visibleText(now);
}

/**
 * A card for each agent, kept across updates so that nothing flickers.
 * @param {HTMLElement} host @param {AgentStanding[]} standing @param {AgentActivity[]} active @param {(agent: string) => void} only
 */
function showCards(host, standing, active, only) {
  const cards = standing.map((agent) => {
    const works = active.filter((one) => one.name === agent.name);
    const [tone, name] = tones[agent.state] ?? ["", ""];
    const press = make(
      "button",
      { type: "button", class: "agent-name row-link", on: { click: () => only(agent.name) } },
      nameOf(agent.name),
    );
    const lines = works.map((work) =>
      make(
        "li",
        {},
        make(
          "a",
          { class: "agent-task", href: `#/sessions/${encodeURIComponent(work.session_id)}` },
          ...visible(work.task || words.noTask),
        ),
        make(
          "span",
          { class: "is-soft" },
          doing(work.state, work.tool ?? ""),
          " ",
          make("span", { data: { since: work.since } }, words.working(spanSince(work.since))),
        ),
      ),
    );
    return make(
      "article",
      { class: "card agent-card", data: { agent: agent.name } },
      make(
        "div",
        { class: "agent-head" },
        make("h3", {}, press),
        badge(words.states[agent.state] ?? visibleText(agent.state ?? ""), tone, name),
      ),
      make("p", { class: "agent-role" }, ...visible(agent.name === "main" ? words.mainRole : String(agent.role ?? ""))),
      agent.model &&
        make(
          "p",
          { class: "agent-model is-soft" },
          `${words.model} `,
          make("span", { class: "mono" }, ...visible(agent.model)),
        ),
      lines.length > 0 && make("ul", { role: "list", class: "agent-works" }, ...lines),
    );
  });
  cards.forEach((card, index) => {
    const there = host.children[index];
    if (!there) host.append(card);
    else if (!there.isEqualNode(card) && !there.contains(document.activeElement)) there.replaceWith(card);
    else if (!there.isEqualNode(card)) fill(there, ...card.childNodes);
  });
  while (host.children.length > cards.length) host.lastElementChild?.remove();
}

/** @param {string} since */
const spanSince = (since) => duration(Math.max(0, Math.round((serverNow() - Date.parse(since)) / 1000) * 1000));

/** @param {HTMLElement} host */
function tick(host) {
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (host.querySelectorAll("[data-since]"))) {
    const said = words.working(spanSince(element.dataset.since ?? ""));
    if (element.textContent !== said) element.textContent = said;
  }
}

/** @param {{agent: string, outcome: string, text: string, run: string}} wanted @param {import("../../context.js").Context} context */
function history(wanted, context) {
  let runs = /** @type {Run[]} */ ([]);
  const older = further(context, {
    path: olderPath,
    rows: (/** @type {AgentHistory} */ { history: found }) => found,
    key: (/** @type {AgentRun} */ run) => run.agent_id,
    shown: () => show(older.rows()),
    isLasting: true,
  });
  /** @type {AgentStanding[]} */ let everyone = [];
  const openRun = (/** @type {Run} */ run) => context.go([run.agent_id], queryOf(wanted));
  const view = table({
    label: words.label,
    key: (/** @type {Run} */ run) => run.agent_id,
    columns: columnsFor(openRun),
    open: openRun,
    sort: { by: "when", isDescending: true },
  });
  const count = make("span", { class: "bar-count", role: "status" });
  const body = make("div", {});
  const agent = select([["", words.allAgents]], wanted.agent, (next) => change({ agent: next }), words.agent);
  const outcome = select(words.outcomes, wanted.outcome, (next) => change({ outcome: next }), words.outcome);
  const search = searchField({ label: words.search, value: wanted.text, change: (text) => change({ text }) });
  let drawer = /** @type {ReturnType<typeof openDrawer> | null} */ (null);

  const draw = () => {
    const asked = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = runs.filter(
      (run) =>
        (!wanted.agent || run.name === wanted.agent) &&
        (!wanted.outcome || run.outcome === wanted.outcome) &&
        asked.every((word) =>
          `${run.task} ${run.session_id} ${run.model} ${run.tools.map(({ name }) => name).join(" ")}`
            .toLowerCase()
            .includes(word),
        ),
    );
    count.textContent = words.count(found.length, runs.length);
    if (runs.length === 0) fill(body, state({ icon: "spark", title: words.emptyTitle, text: words.empty }));
    else if (found.length === 0) fill(body, state({ icon: "search", title: words.noMatchTitle, text: words.noMatch }));
    else if (body.firstChild !== view.show(found)) fill(body, view.element);
  };
  const show = (/** @type {AgentRun[]} */ next) => {
    runs = next.map((run) => ({ ...run, tools: run.tools ?? [], task: run.task ?? "" }));
    const names = [...new Set([...everyone.map(({ name }) => name), ...runs.map(({ name }) => name)])];
    if (document.activeElement !== agent)
      fill(
        agent,
        ...[["", words.allAgents], ...names.map((name) => [name, nameOf(name)])].map(([value, label]) =>
          make("option", { value, selected: value === wanted.agent }, label),
        ),
      );
    draw();
  };
  const change = (/** @type {Partial<typeof wanted>} */ next) => {
    Object.assign(wanted, next);
    context.note([], queryOf(wanted));
    draw();
  };
  const open = (/** @type {string} */ id) => {
    drawer?.close();
    const run = runs.find(({ agent_id }) => agent_id === id);
    if (!run) return;
    const opened = openDrawer({
      title: run.task || nameOf(run.name),
      body: details(run),
      closed: () => {
        if (drawer === opened) drawer = null;
        context.note([], queryOf(wanted));
      },
    });
    drawer = opened;
  };
  return {
    element: make(
      "section",
      {},
      heading(words.history),
      make("div", { class: "bar" }, search.element, agent, outcome, count),
      body,
      older.element,
    ),
    open,
    only: (/** @type {string} */ name) => {
      agent.value = name;
      change({ agent: name });
    },
    show: (/** @type {AgentRun[]} */ next, /** @type {AgentStanding[]} */ standing) => {
      const first = runs.length === 0;
      everyone = standing;
      show(older.take(next, next.length >= newest ? "" : null));
      if (first && wanted.run) open(wanted.run);
    },
  };
}

/** @param {{agent: string, outcome: string, text: string}} wanted */
const queryOf = ({ agent, outcome, text }) => ({ agent, outcome, q: text });

/** @param {string} outcome */
function outcomeBadge(outcome) {
  const label = words.outcomes.find(([id]) => id === outcome)?.[1] ?? visibleText(outcome);
  if (outcome === "end") return badge(label, "good", "check");
  return badge(
    label,
    outcome === "stopped" ? "" : outcome === "error" ? "bad" : "warn",
    outcome === "stopped" ? "stop" : "alert",
  );
}

/** @param {Run} run */
const toolWords = (run) => run.tools.map(({ name, calls }) => words.times(visibleText(name), calls)).join(", ");

/** @param {(run: Run) => void} open @returns {import("../../../components/table.js").Column<Run>[]} */
const columnsFor = (open) => [
  {
    id: "what",
    title: words.columns.what,
    cell: (run) =>
      rowTitle({
        press: () => open(run),
        label: visible(run.task || words.noTask),
        sub: [nameOf(run.name), " · ", timeElement(run.ended_at)],
      }),
  },
  {
    id: "agent",
    title: words.columns.agent,
    width: "w-s",
    isWide: true,
    sort: (run) => run.name,
    cell: (run) => nameOf(run.name),
  },
  {
    id: "outcome",
    title: words.columns.outcome,
    width: "w-outcome",
    sort: (run) => run.outcome,
    cell: (run) => outcomeBadge(run.outcome),
  },
  {
    id: "tools",
    title: words.columns.tools,
    width: "w-m",
    isWide: true,
    class: "is-soft",
    cell: (run) => toolWords(run),
  },
  {
    id: "took",
    title: words.columns.took,
    width: "w-cost",
    isWide: true,
    class: "is-number",
    sort: (run) => run.duration,
    cell: (run) => duration(run.duration * 1000),
  },
  {
    id: "tokens",
    title: words.columns.tokens,
    width: "w-xs",
    isWide: true,
    class: "is-number",
    sort: (run) => run.input_tokens + run.output_tokens,
    cell: (run) => compact(run.input_tokens + run.output_tokens),
  },
  {
    id: "cost",
    title: words.columns.cost,
    width: "w-cost",
    class: "is-number",
    sort: (run) => run.cost_usd,
    cell: (run) => money(run.cost_usd),
  },
  {
    id: "when",
    title: words.columns.when,
    width: "w-s",
    rank: 2,
    isWide: true,
    class: "is-soft",
    sort: (run) => run.ended_at,
    cell: (run) => timeElement(run.ended_at),
  },
];

/** @param {Run} run @returns {Node[]} */
function details(run) {
  const kind = texts.usage.kinds[/** @type {"turn"} */ (run.kind)] ?? visibleText(run.kind);
  return [
    pairs(
      [words.columns.outcome, outcomeBadge(run.outcome)],
      [words.error, run.error && make("span", {}, ...visible(run.error))],
      [words.columns.agent, nameOf(run.name)],
      [words.model, run.model && make("span", { class: "mono" }, ...visible(run.model))],
      [words.kind, kind],
      [
        words.conversation,
        make("a", { href: `#/sessions/${encodeURIComponent(run.session_id)}` }, visibleText(run.session_id)),
      ],
      [words.parent, run.parent && make("a", { href: `#/agents/${encodeURIComponent(run.parent)}` }, words.mainTurn)],
      [words.began, exactTime(run.started_at)],
      [words.ended, exactTime(run.ended_at)],
      [words.columns.took, duration(run.duration * 1000)],
      [words.columns.tools, toolWords(run) || words.noTools],
      [words.sent, counted(run.input_tokens)],
      [words.cached, counted(run.cached_tokens)],
      [words.received, counted(run.output_tokens)],
      [words.columns.cost, money(run.cost_usd)],
    ),
  ];
}
