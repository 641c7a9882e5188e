// The words of Live Company.

import { translated } from "../shared/language.js";

export const company = translated("company", {
  main: "Aethon",
  owner: "You",
  mainRole: "Main agent",
  failed: "Who is at work could not be loaded",
  picture: "A drawing of an office in which every agent is where it works. The list says the same in words.",
  people: "Who does what",
  doors: "Doors",
  waitsShort: "waits for you",
  answers: "answers",
  states: { idle: "Idle", thinking: "Thinking", tool: "Working", waiting: "Waits for you", failed: "Failed" },
  uses: (/** @type {string} */ tool) => `Uses ${tool}`,
  waitsFor: (/** @type {string} */ tool) => `Waits for your approval to use ${tool}`,
  whys: /** @type {Record<string, string>} */ ({
    error: "The last turn ended with an error.",
    failed: "The last turn ended with an error.",
    limit: "The last turn ended at a limit.",
    budget: "The budget refused the last turn.",
  }),
  others: (/** @type {number} */ n) => (n === 1 ? "and one more conversation" : `and ${n} more conversations`),
  places: {
    desk: "at the desk",
    shelf: "at the shelf of the memory",
    terminal: "at the terminal",
    cabinet: "at the cabinet of files",
    window: "at the window to the web",
    door: "at the door",
    clock: "below the clock",
    chair: "before your desk",
    colleague: "with a colleague",
  },
  says: (/** @type {string} */ name, /** @type {string} */ what) => `${name}: ${what}.`,
  decide: "Decide",
  conversation: "Conversation",
  task: "Asked for",
  since: "Since",
  place: "Where",
  lastTool: "Last tool",
  role: "Role",
  noneYet: "None yet",
  follow: "Follow in the monitor",
  history: "What it did before",
  lastMessage: (/** @type {string} */ when) => `last message ${when}`,
  quiet: "quiet so far",
  inTray: (/** @type {number} */ n) =>
    n === 0 ? "The inbox is empty" : n === 1 ? "One message waits in the inbox" : `${n} messages wait in the inbox`,
  job: (/** @type {string} */ name) => `The job ${name} runs`,
  noJob: "No job runs",
  more: (/** @type {number} */ n) =>
    n === 1
      ? "One more specialist has no desk in the drawing; the list has everybody."
      : `${n} more specialists have no desk in the drawing; the list has everybody.`,
});
