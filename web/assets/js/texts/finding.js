// The words for finding one's way in a long conversation.

import { translated } from "../shared/language.js";

export const findingWords = translated("finding", {
  menu: "Options of this conversation",
  find: "Find in this conversation",
  older: "Older match",
  newer: "Newer match",
  close: "Done",
  none: "Nothing found",
  toBeginning: "Go to the beginning",
  toDate: "Go to a date",
  date: "Date",
  go: "Go",
  cancel: "Cancel",
  nothingSince: "There is nothing in this conversation from that day on.",
  loadFailed: "The messages could not be loaded. Try again.",
  /** @param {number} at @param {number} count @param {boolean} hasMore */
  place: (at, count, hasMore) => `${at} of ${count}${hasMore ? "+" : ""}`,
  /** @param {string} why */
  failed: (why) => `The search failed: ${why}`,
});
