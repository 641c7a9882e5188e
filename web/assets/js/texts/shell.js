// The words of the dashboard's frame and of the components that its panels share.

import { counted } from "../shared/count.js";
import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${counted(n)} ${n === 1 ? one : many}`;

export const shell = translated("shell", {
  groups: { now: "Now", work: "Work", mind: "Mind", system: "System" },
  panels: {
    overview: "Overview",
    company: "Live Company",
    monitor: "Live Monitor",
    approvals: "Approvals",
    sessions: "Sessions",
    agents: "Agents",
    sops: "SOPs",
    scheduler: "Scheduler",
    recordings: "Recordings",
    memory: "Memory",
    channels: "Channels",
    usage: "Usage",
    features: "Features",
    config: "Config",
    logs: "Logs",
  },
  search: "Search or jump to",
  model: "Model",
  budget: "Today’s money",
  spent: (/** @type {string} */ amount) => `${amount} today`,
  waiting: "waiting for you",
  openRail: "Show panels",
  back: "Back",
  toOverview: "Go to the overview",
  reload: "Reload the page",
  unknownTitle: "Not found",
  unknownLead: "There is no such page",
  unknown: (/** @type {string} */ hash) =>
    `The dashboard has nothing at ${hash.slice(0, 120)}. Pick a panel, or search for one.`,
  panelFailed: "This panel could not be loaded",
  panelFailedHint:
    "Aethon may be restarting or was updated. Reload the page; if that does not help, check that Aethon is running.",

  staleSince: (/** @type {string} */ when) => `Not up to date: from ${when}.`,
  refreshFailed: (/** @type {string} */ why) => `Could not be refreshed. ${why}`,
  actionFailed: (/** @type {string} */ why) => `That did not work. ${why}`,
  retry: "Try again",
  more: "Show more",
  shownOf: (/** @type {number} */ shown, /** @type {number} */ all) =>
    shown >= all ? plural(all, "entry", "entries") : `${counted(shown)} of ${counted(all)}`,
  sortBy: (/** @type {string} */ column) => `Sort by ${column.toLowerCase()}`,
  copy: "Copy",
  close: "Close",
  cancel: "Cancel",
  save: "Save",
  clearSearch: "Clear the search",
  noChange: "Nothing was changed.",
  showDiff: "What changes",
  skipped: (/** @type {number} */ n) => plural(n, "unchanged line", "unchanged lines"),
  removedLine: "removed",
  addedLine: "added",

  palette: {
    label: "Search panels, conversations and actions",
    placeholder: "Where to, or what to do?",
    panels: "Panels",
    sessions: "Conversations",
    actions: "Actions",
    none: "Nothing matches.",
    hint: "↑ ↓ to choose, Enter to open, Esc to close",
    searching: "Searching conversations",
    newChat: "Start a new chat",
    openChat: "Open the chat",
    light: "Use the light colours",
    dark: "Use the dark colours",
    system: "Follow the colours of the system",
    signOut: "Sign out",
    addMemory: "Add a memory",
    addJob: "Add a job",
    addSop: "Write an SOP",
    results: (/** @type {number} */ n) => plural(n, "result", "results"),
  },
});
