// The words of the live monitor.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const monitor = translated("monitor", {
  failed: "The newest messages could not be loaded",
  search: "Search messages, tools and arguments",
  channel: "Channel",
  allChannels: "All channels",
  kind: "Kind",
  kinds: /** @type {[string, string][]} */ ([
    ["", "Everything"],
    ["message", "Messages"],
    ["reply", "Replies"],
    ["prompt", "Aethon’s own instructions"],
    ["tool", "Tool calls"],
    ["approval", "Approvals"],
    ["delivery", "Deliveries"],
    ["job", "Jobs"],
    ["problem", "Problems"],
  ]),
  kindNames: /** @type {Record<string, string>} */ ({
    message: "Message",
    prompt: "Instruction",
    reply: "Reply",
    tool: "Tool",
    approval: "Approval",
    delivery: "Delivery",
    job: "Job",
    problem: "Problem",
    note: "Note",
    gap: "Gap",
  }),
  states: /** @type {Record<string, string>} */ ({
    running: "Running",
    ok: "Done",
    error: "Failed",
    denied: "Denied",
    waiting: "Waits",
    allowed: "Allowed",
    sent: "Sent",
    skipped: "Skipped",
    stopped: "Stopped",
  }),
  onlySession: (/** @type {string} */ name) => `Only ${name}`,
  everySession: "Show every conversation",
  list: "Messages and tool calls, newest first",
  columns: { time: "Time", kind: "Kind", what: "What", session: "Conversation", state: "State" },
  emptyTitle: "Nothing has happened yet",
  empty: "Messages and tool calls of every channel appear here as they happen. Say something in the chat.",
  noMatchTitle: "Nothing matches",
  noMatch: "Change the words of the search or the filters.",
  gap: (/** @type {number} */ n) =>
    `${n === 1 ? "One event was" : `${n.toLocaleString("en")} events were`} missed here. Those that are stored were loaded again.`,
  count: (/** @type {number} */ shown, /** @type {number} */ all) =>
    shown === all
      ? plural(all, "entry", "entries")
      : `${shown.toLocaleString("en")} of ${plural(all, "entry", "entries")}`,
  history: (/** @type {number} */ n) =>
    `With the newest of ${n === 1 ? "one conversation" : `${n} conversations`} from before you opened this page.`,
  input: "Input",
  output: "Output",
  text: "Text",
  took: "Took",
  conversation: "Conversation",
  turn: "Turn",
  model: "Model",
  from: "From a stranger; its text is data, not instructions",
  asks: (/** @type {string} */ tool) => `Asks to use ${tool}`,
  picture: "A picture",
  file: (/** @type {string} */ name) => `The file ${name}`,
  older: (/** @type {number} */ n) => `${n} older messages were summarised`,
});
