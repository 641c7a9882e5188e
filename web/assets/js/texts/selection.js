// The words for several rows of a table, and what is done with them at once.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const selectionWords = translated("selection", {
  bar: "What is chosen",
  column: "Choose",
  choose: (/** @type {string} */ name) => `Choose “${name}”`,
  count: (/** @type {number} */ n) => `${n.toLocaleString("en")} chosen`,
  all: "Choose all shown",
  none: "Choose none",
  remove: "Delete",
  archive: "Archive",
  download: "Download",
  undo: "Undo",
  partly: (/** @type {number} */ left, /** @type {string} */ why) =>
    `${plural(left, "was", "were")} left out: ${why}`,
  sessions: {
    removeTitle: (/** @type {number} */ n) => `Delete ${plural(n, "conversation", "conversations")}?`,
    named: (/** @type {string[]} */ names, /** @type {number} */ more) =>
      names.map((name) => `“${name}”`).join(", ") + (more > 0 ? ` and ${more.toLocaleString("en")} more` : ""),
    removeBody: (/** @type {string} */ what) => `${what} will be gone for good, with all messages.`,
    archived: (/** @type {number} */ n) => `${plural(n, "conversation", "conversations")} archived.`,
    unarchived: (/** @type {number} */ n) => `${plural(n, "conversation is", "conversations are")} back.`,
    file: "conversations.md",
  },
  memory: {
    removeTitle: (/** @type {number} */ n) => `Delete ${plural(n, "memory", "memories")}?`,
    removeBody: "Answers will not know of them any more, and their history goes with them.",
    removed: (/** @type {number} */ n) => `${plural(n, "memory", "memories")} deleted.`,
  },
});
