// The words for doing something with several conversations at once.

import { translated } from "../shared/language.js";

export const selectionWords = translated("several", {
  begin: "Select several",
  bar: "Selected conversations",
  /** @param {number} count */
  count: (count) => `${count} selected`,
  /** @param {string} title */
  select: (title) => `Select ${title}`,
  archive: "Archive the selected conversations",
  move: "Move the selected conversations to a folder",
  remove: "Delete the selected conversations",
  done: "Done",
  /** @param {number} count */
  archived: (count) => (count === 1 ? "One conversation is archived." : `${count} conversations are archived.`),
  /** @param {number} count */
  removeTitle: (count) => (count === 1 ? "Delete this conversation?" : `Delete ${count} conversations?`),
  removeBody: "Their messages are removed for good.",
  /** @param {number} count */
  what: (count) => (count === 1 ? "One conversation" : `Each of the ${count} conversations`),
  /** @param {number} count @param {string} why */
  someFailed: (count, why) => `${count === 1 ? "One conversation" : `${count} conversations`} could not be changed. ${why}`,
});
