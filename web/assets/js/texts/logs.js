// The words of the logs.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const logs = translated("logs", {
  failed: "The log could not be loaded",
  level: "Level",
  levels: /** @type {[string, string][]} */ ([
    ["error", "Errors only"],
    ["warn", "Warnings and up"],
    ["info", "Normal and up"],
    ["debug", "Details and up"],
    ["trace", "Everything"],
  ]),
  target: "Part",
  allTargets: "All parts",
  search: "Search the log",
  list: "Log lines, newest first",
  columns: { time: "Time", level: "Level", target: "Part", message: "What happened" },
  emptyTitle: "No log lines at this level",
  empty:
    "Aethon has logged nothing of this level since it was started. Choose a lower level; logging.level decides what is written at all.",
  noMatchTitle: "No line matches",
  noMatch: "Change the words of the search or the part.",
  line: "Log line",
  fields: "Fields",
  gap: (/** @type {number} */ n) =>
    `${n.toLocaleString("en")} events were missed here, because they came faster than this page could take them.`,
  kept: "The newest 1,000 lines are kept in memory; older ones are in the files below logs/ in Aethon’s home.",
  count: (/** @type {number} */ shown, /** @type {number} */ all) =>
    shown === all ? plural(all, "line", "lines") : `${shown.toLocaleString("en")} of ${plural(all, "line", "lines")}`,
});
