// The words for forks of a conversation, for versions that a retry or an edit leaves, and for messages that are taken back.

import { translated } from "../shared/language.js";

export const forkWords = translated("forks", {
  fork: "Go on from here in a new conversation",
  done: "This is a new conversation. The other one is as it was.",
  /** @param {string} why */
  failed: (why) => `The conversation could not be forked. ${why}`,
  /** @param {number} count */
  setAside: (count) =>
    count === 1
      ? "The message after it is kept with the other version."
      : `The ${count} messages after it are kept with the other version.`,
  edit: "Edit",
  /** @param {string} text */
  editLabel: (text) => `Take back and edit: ${text}`,
});
