// The state of the office: who works on what, derived from the events of the dashboard's socket. No clock and no page: the time
// is passed with each event, so that a test can play a day in a moment.

import { placeOfTool } from "./floor.js";

/** @import { Place } from "./floor.js" */
/** @import { LiveEvent } from "../../panels.js" */
/** @import { AgentActivity, AgentStanding, Approval, Block, Channel, Job, Session } from "../../../wire/api.js" */
/** @import { AgentNews, ApprovalNews, JobNews, MessageNews, SessionNews, TelemetryNews } from "../../../wire/frames.js" */

/**
 * A piece of work: one conversation that an agent is answering.
 * @typedef {{session: string, turn: string, task: string, since: number, calls: Map<string, string>, asked: Map<string, string>,
 *   tool: string, state: "thinking" | "tool"}} Work
 * @typedef {{at: number, place: Place, tool: string, session: string, isBad: boolean, isAnswer: boolean}} Moment what an agent has
 *   just done, shown a little longer than it took
 * @typedef {{id: string, name: string, role: string, isMain: boolean, works: Map<string, Work>, fault: {at: number, why: string} | null,
 *   moment: Moment | null, lastTool: string, lastAt: number}} Agent
 * @typedef {"idle" | "thinking" | "tool" | "waiting" | "failed"} State
 * @typedef {{id: string, name: string, role: string, isMain: boolean, state: State, place: Place, tool: string,
 *   session: string, turn: string,
 *   task: string, since: number, others: number, why: string, isAnswer: boolean, lastTool: string, lastAt: number}} Seen an agent as it
 *   is shown, in the drawing and in words alike
 * @typedef {{kind: "arrives", channel: string, session: string} | {kind: "leaves", channel: string, agent: string} |
 *   {kind: "rings", job: string}} Happening
 */

export const mainId = "main";
const faultMs = 30000;
/** Most calls take less than a figure needs to walk. */
const momentMs = 2500;
const most = { happenings: 40, agents: 40, owners: 200 };
/** The pseudo-tool for memory searches by the program itself. */
const recalling = "memory";
/** Why a figure looks sad whose call failed. */
export const callFailed = "call";
/** An approval known only from the agent's state. */
const unnamed = "";
/** Where conversations begin that come through no door. */
const inner = new Set(["agent", "schedule", "work"]);
const endings = new Set(["error", "failed", "limit", "budget"]);
const resting = new Set(["idle", "failed"]);

export class Office {
  /** @type {Map<string, Agent>} */ agents = new Map();
  /** @type {Map<string, {name: string, state: string, at: number}>} */ channels = new Map();
  /** @type {Happening[]} What the page has yet to show; the oldest are dropped. */ happenings = [];
  /** The running job. */ job = "";
  /** The agent working in each session. @type {Map<string, string>} */ #owners = new Map();
  /** The messages without an answer, by session. @type {Map<string, number>} */ #unanswered = new Map();

  constructor() {
    this.#agent(mainId, { name: "Aethon", isMain: true });
  }

  /**
   * Sets the initial state from the API's answers when the panel opens, without animating anything.
   * @param {{channels?: (Channel | string)[], agents?: AgentActivity[], approvals?: Approval[], sessions?: Session[],
   *   specialists?: AgentStanding[], scheduler?: Job[]}} found a route may be missing
   * @param {number} now
   */
  prime({ channels, agents, approvals, sessions, specialists, scheduler }, now) {
    for (const channel of listOf(channels)) {
      if (typeof channel === "string") this.#channel(channel, "running");
      else if (channel.enabled === false) this.channels.delete(channel.name);
      else this.#channel(channel.name, channel.state ?? "running", Date.parse(channel.last_inbound ?? "") || 0);
    }
    for (const one of listOf(specialists)) if (!isMain(one)) this.#agent(one.name, { role: one.role });
    if (agents) this.#active(listOf(agents), now);
    else if (sessions) this.#busy(listOf(sessions), now);
    if (approvals)
      for (const agent of this.agents.values()) for (const work of agent.works.values()) work.asked.clear();
    for (const approval of listOf(approvals))
      this.#asked({ ...approval, state: "open" }, Date.parse(approval.created_at) || now);
    this.job = listOf(scheduler).find((job) => job.last_status === "running")?.job_id ?? "";
    this.happenings = [];
    this.#unanswered.clear();
  }

  /** @param {[...event: LiveEvent, now: number]} told */
  onEvent(...[topic, data, now]) {
    if (!data || typeof data !== "object") return;
    if (topic === "sessions") this.#turn(data, now);
    if (topic === "messages") this.#message(data, now);
    if (topic === "approvals") this.#asked(data, now);
    if (topic === "agents") this.#working(data, now);
    if (topic === "scheduler") this.#job(data);
    if (topic === "telemetry") this.#measured(data, now);
  }

  /** Everybody, the main agent first. @param {number} now @returns {Seen[]} */
  seen(now) {
    return [...this.agents.values()].map((agent) => look(agent, now));
  }

  /** The time of the next change without an event, such as an agent recovering from a failure. @param {number} now */
  nextChange(now) {
    const ends = [...this.agents.values()]
      .flatMap(({ fault, moment }) => [
        fault ? fault.at + faultMs - now : Infinity,
        moment ? moment.at + momentMs - now : Infinity,
      ])
      .filter((left) => left > 0);
    return ends.length > 0 ? Math.min(...ends) : Infinity;
  }

  /** The number of messages that wait: they have no answer, and nobody works on one. */
  get letters() {
    const isOpen = (/** @type {string} */ session) =>
      [...this.agents.values()].some(({ works }) => works.has(session));
    return [...this.#unanswered].reduce((sum, [session, count]) => sum + (isOpen(session) ? 0 : count), 0);
  }

  /** What happened since the last call. @returns {Happening[]} */
  take() {
    return this.happenings.splice(0);
  }

  /** The agent working in a session; the main agent unless another is known. @param {string} session @returns {Agent} */
  #of(session) {
    return this.agents.get(this.#owners.get(session) ?? mainId) ?? this.#main();
  }

  /** @param {SessionNews} news @param {number} now */
  #turn({ session_id: session, change, turn, end }, now) {
    const agent = this.#of(session);
    if (change === "turn_started") {
      agent.fault = null;
      agent.works.set(session, workOf(session, now, { turn, task: agent.works.get(session)?.task }));
    }
    if (change === "turn_ended" || change === "reset" || change === "deleted") {
      const was = agent.works.delete(session);
      this.#owners.delete(session);
      this.#unanswered.delete(session);
      if (end && endings.has(end)) agent.fault = { at: now, why: end };
      if (was) agent.lastAt = now;
    }
  }

  /** @param {MessageNews} news @param {number} now */
  #message({ session_id: session, message }, now) {
    const blocks = listOf(message?.content);
    const agent = this.#of(session);
    const work = agent.works.get(session);
    const channel = channelOf(session);
    const isRecalled = blocks.some((block) => block.type === "context" && /memor|recall/i.test(block.source ?? ""));
    if (
      agent.isMain &&
      !inner.has(channel) &&
      message?.role === "user" &&
      blocks.some((block) => block.type !== "tool_result" && block.type !== "context")
    ) {
      if (!this.channels.has(channel)) this.#channel(channel, "running");
      const door = this.channels.get(channel);
      if (door) door.at = now;
      this.#tell({ kind: "arrives", channel, session });
      this.#wait(session);
    }
    if (isRecalled) agent.moment = momentOf(now, session, recalling, { place: "shelf" });
    for (const block of blocks) {
      if (block.type === "tool_call") this.#call(agent, work, block, session, now);
      if (block.type === "tool_result") this.#result(agent, work, block, session, now);
    }
    const isAnswer =
      message?.role === "assistant" &&
      !blocks.some((block) => block.type === "tool_call") &&
      blocks.some((block) => block.type === "text");
    if (!isAnswer || !agent.isMain) return;
    this.#unanswered.delete(session);
    if (inner.has(channel)) return;
    agent.moment = momentOf(now, session, channel, { place: "door", isAnswer: true });
    this.#tell({ kind: "leaves", channel, agent: agent.id });
  }

  /** @param {Agent} agent @param {Work | undefined} work @param {Block} block @param {string} session @param {number} now */
  #call(agent, work, { id, name }, session, now) {
    const tool = String(name ?? "");
    agent.lastTool = tool;
    agent.lastAt = now;
    if (work) {
      work.calls.set(String(id), tool);
      Object.assign(work, { state: "tool", tool, since: now });
    }
    agent.moment = momentOf(now, session, tool, {});
  }

  /** @param {Agent} agent @param {Work | undefined} work @param {Block} block @param {string} session @param {number} now */
  #result(agent, work, block, session, now) {
    const tool = String(block.name ?? "");
    if (block.is_error || block.denied) agent.moment = momentOf(now, session, tool, { isBad: true });
    if (!work) return;
    work.calls.delete(String(block.call));
    work.tool = [...work.calls.values()].at(-1) ?? "";
    work.state = work.tool ? "tool" : "thinking";
  }

  /** @param {ApprovalNews} data @param {number} now */
  #asked(data, now) {
    if (data.state !== "open") {
      for (const agent of this.agents.values())
        for (const work of agent.works.values()) work.asked.delete(String(data.id));
      return;
    }
    const agent = this.#of(data.session_id);
    const work = agent.works.get(data.session_id) ?? workOf(data.session_id, now, { turn: data.turn });
    work.asked.set(String(data.id), String(data.tool ?? ""));
    work.since = now;
    agent.works.set(data.session_id, work);
  }

  /**
   * An event of the topic `agents`: what one agent does in one session now.
   * @param {AgentNews} data @param {number} now
   */
  #working(data, now) {
    if ("sop_run" in data) return;
    const session = String(data.session_id ?? "");
    const agent = this.#agent(isMain(data) ? mainId : String(data.name ?? ""), { role: data.role });
    if (!session || !this.agents.has(agent.id)) return;
    const state = String(data.state ?? "");
    if (resting.has(state)) {
      agent.works.delete(session);
      this.#owners.delete(session);
      agent.lastAt = now;
      agent.fault = endings.has(state) ? { at: now, why: state } : agent.fault;
      return;
    }
    // The turn may have been reported before its agent was known.
    if (!agent.isMain) this.#main().works.delete(session);
    this.#own(session, agent.id);
    const tool = String(data.tool ?? "");
    const was = agent.works.get(session);
    const work = was ?? workOf(session, now, { turn: data.agent_id, task: data.task });
    const isNew = tool !== "" && tool !== was?.tool && ![...work.calls.values()].includes(tool);
    if (!tool) work.calls.clear();
    if (state === "waiting_approval") work.asked.set(unnamed, tool);
    else work.asked.delete(unnamed);
    Object.assign(work, {
      tool,
      state: tool ? "tool" : "thinking",
      since: Date.parse(data.since) || now,
      task: data.task ?? work.task,
    });
    agent.fault = null;
    agent.works.set(session, work);
    if (!isNew) return;
    agent.lastTool = tool;
    agent.lastAt = now;
    agent.moment = momentOf(now, session, tool, {});
  }

  /** Applies the API's list of active agents. @param {AgentActivity[]} active @param {number} now */
  #active(active, now) {
    for (const agent of this.agents.values()) agent.works.clear();
    for (const one of active) this.#working(one, now);
  }

  /** @param {Session[]} sessions @param {number} now */
  #busy(sessions, now) {
    const busy = new Set(sessions.filter((session) => session.busy).map((session) => session.session_id));
    const { works } = this.#main();
    for (const session of works.keys()) if (!busy.has(session)) works.delete(session);
    for (const session of busy) if (!works.has(session)) works.set(session, workOf(session, now, {}));
  }

  /** Notes a message without an answer. @param {string} session */
  #wait(session) {
    const before = this.#unanswered.get(session) ?? 0;
    this.#unanswered.delete(session);
    this.#unanswered.set(session, before + 1);
    for (const old of this.#unanswered.keys()) if (this.#unanswered.size > most.owners) this.#unanswered.delete(old);
  }

  /** @param {string} session @param {string} agent */
  #own(session, agent) {
    this.#owners.delete(session);
    this.#owners.set(session, agent);
    for (const old of this.#owners.keys()) if (this.#owners.size > most.owners) this.#owners.delete(old);
  }

  /** @param {JobNews} news */
  #job({ job_id: job, change }) {
    if (change === "run_started") {
      this.job = String(job);
      this.#tell({ kind: "rings", job: this.job });
    }
    if (change === "run_ended" && this.job === job) this.job = "";
  }

  /** Shows a delivery of a channel at its door. @param {TelemetryNews} data @param {number} now */
  #measured(data, now) {
    const [type, name, state] = [
      String(data.type ?? ""),
      String(data.name ?? ""),
      String(data.status ?? ""),
    ];
    if (/^channel/.test(type) && name) this.#channel(name, state || "running");
    const door = this.channels.get(name);
    if (/^deliver/.test(type) && door) door.at = now;
  }

  /** @param {string} name @param {string} state @param {number} [at] when the last message came */
  #channel(name, state, at = 0) {
    // Agents talk to each other without a door.
    if (!name || name === "undefined" || inner.has(name)) return;
    const there = this.channels.get(name);
    this.channels.set(name, { name, state, at: Math.max(at, there?.at ?? 0) });
  }

  /** @param {string} id @param {{name?: string, role?: string, isMain?: boolean}} more @returns {Agent} */
  #agent(id, { name = id, role, isMain: main = false }) {
    let agent = this.agents.get(id);
    if (!agent) {
      agent = { id, name, role: "", isMain: main, works: new Map(), fault: null, moment: null, lastTool: "", lastAt: 0 };
      if (this.agents.size < most.agents && id) this.agents.set(id, agent);
    }
    if (role) agent.role = role;
    return agent;
  }

  /** @returns {Agent} */
  #main() {
    return /** @type {Agent} */ (this.agents.get(mainId));
  }

  /** @param {Happening} happening */
  #tell(happening) {
    this.happenings.push(happening);
    if (this.happenings.length > most.happenings) this.happenings.shift();
  }
}

/**
 * How an agent is shown: first what needs the owner, then what it is doing or has just done, then how it ended.
 * @param {Agent} agent
 * @param {number} now
 * @returns {Seen}
 */
function look(agent, now) {
  const works = [...agent.works.values()];
  const rank = (/** @type {Work} */ work) => (work.asked.size > 0 ? 3 : work.state === "tool" ? 2 : 1);
  const work = works.sort((one, other) => rank(other) - rank(one) || other.since - one.since)[0];
  const common = {
    id: agent.id,
    name: agent.name,
    role: agent.role,
    isMain: agent.isMain,
    session: work?.session ?? "",
    turn: work?.turn ?? "",
    task: work?.task ?? "",
    since: work?.since ?? 0,
    others: Math.max(0, works.length - 1),
    why: "",
    isAnswer: false,
    lastTool: agent.lastTool,
    lastAt: agent.lastAt,
  };
  if (work && work.asked.size > 0)
    return { ...common, state: "waiting", place: "chair", tool: [...work.asked.values()][0] };
  if (work?.state === "tool") return { ...common, state: "tool", place: placeOfTool(work.tool), tool: work.tool };
  const { moment } = agent;
  if (moment && now >= moment.at && now - moment.at < momentMs) {
    const { place, tool, isAnswer, isBad } = moment;
    return { ...common, session: moment.session, state: isBad ? "failed" : "tool", place, tool, isAnswer, why: isBad ? callFailed : "" };
  }
  if (work) return { ...common, state: "thinking", place: "desk", tool: "" };
  if (agent.fault && now - agent.fault.at < faultMs)
    return { ...common, state: "failed", place: "desk", tool: "", why: agent.fault.why };
  return { ...common, state: "idle", place: "desk", tool: "" };
}

/**
 * @param {number} at @param {string} session @param {string} tool @param {{place?: Place, isBad?: boolean, isAnswer?: boolean}} more
 * @returns {Moment}
 */
const momentOf = (at, session, tool, { place = placeOfTool(tool), isBad = false, isAnswer = false }) => ({
  at,
  session,
  tool,
  place,
  isBad,
  isAnswer,
});

/** @param {string} session @param {number} now @param {{turn?: string, task?: string}} more @returns {Work} */
const workOf = (session, now, { turn = "", task = "" }) => ({
  session,
  turn,
  task,
  since: now,
  calls: new Map(),
  asked: new Map(),
  tool: "",
  state: "thinking",
});

/** The channel of a session: `telegram:42` came by telegram. @param {unknown} session */
export const channelOf = (session) => String(session ?? "").split(":")[0] || "webchat";

/** @param {{name: string}} one */
const isMain = (one) => one.name === mainId;

/**
 * A list that may be missing, or something else in what an odd program sends.
 * @template [Item=unknown] @param {Item[] | undefined} found
 */
const listOf = (found) => (Array.isArray(found) ? found : []);
