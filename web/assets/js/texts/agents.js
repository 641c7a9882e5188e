// The words of the agents.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const agents = translated("agents", {
  failed: "The agents could not be loaded",
  historyFailed: "What agents did could not be loaded",
  now: "Now",
  nobody: "Nobody works right now.",
  resting: (/** @type {number} */ n) => (n === 1 ? "One agent waits for work" : `${n} agents wait for work`),
  history: "What they did",
  main: "Aethon",
  mainRole: "The main agent: it answers you, and asks specialists.",
  states: /** @type {Record<string, string>} */ ({
    idle: "Idle",
    thinking: "Thinking",
    tool: "Uses a tool",
    waiting_approval: "Waits for you",
    failed: "Failed last time",
  }),
  uses: (/** @type {string} */ tool) => `Uses ${tool}`,
  waits: (/** @type {string} */ tool) => (tool ? `Waits for your approval to use ${tool}` : "Waits for your approval"),
  model: "Model",
  working: (/** @type {string} */ time) => `for ${time}`,
  noTask: "Without words",
  noneTitle: "No agent is known",
  none: "The main agent and each specialist of the configuration are listed here.",
  emptyTitle: "No agent has worked yet",
  empty:
    "Each turn of the main agent and of a specialist is kept here, with its tools, its time and its cost. Say something in the chat.",
  noMatchTitle: "Nothing matches",
  noMatch: "Change the words of the search, the agent or the outcome.",
  search: "Search what was asked",
  agent: "Agent",
  allAgents: "All agents",
  outcome: "Outcome",
  outcomes: /** @type {[string, string][]} */ ([
    ["", "All outcomes"],
    ["end", "Done"],
    ["error", "Failed"],
    ["stopped", "Stopped"],
    ["limit", "Hit a limit"],
    ["budget", "Over budget"],
  ]),
  columns: {
    what: "Asked for",
    agent: "Agent",
    outcome: "Outcome",
    tools: "Tools",
    took: "Took",
    tokens: "Tokens",
    cost: "Cost",
    when: "When",
  },
  label: "Work that is over, newest first",
  kind: "Kind of work",
  conversation: "Conversation",
  parent: "Asked by",
  mainTurn: "another agent",
  began: "Began",
  ended: "Ended",
  sent: "Tokens sent",
  received: "Tokens received",
  cached: "From the cache",
  error: "What went wrong",
  times: (/** @type {string} */ name, /** @type {number} */ n) => (n > 1 ? `${name} × ${n}` : name),
  noTools: "None",
  count: (/** @type {number} */ shown, /** @type {number} */ all) =>
    shown === all ? plural(all, "turn", "turns") : `${shown.toLocaleString("en")} of ${plural(all, "turn", "turns")}`,
});
