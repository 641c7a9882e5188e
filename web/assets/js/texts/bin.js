// The words for keeping conversations: the bin, and files with all versions.

import { translated } from "../shared/language.js";

const days = (/** @type {number} */ n) => (n === 1 ? "a day" : `${n} days`);
const conversations = (/** @type {number} */ n) => (n === 1 ? "One conversation" : `${n} conversations`);

export const binWords = translated("bin.binWords", {
  title: "Bin",
  open: "Bin",
  lead: (/** @type {number} */ n) =>
    n > 0
      ? `Deleted conversations stay here for ${days(n)}; after that, they are gone for good.`
      : "Deleted conversations are gone at once (session.bin_days is 0).",
  titled: (/** @type {string} */ title) => `“${title}”`,
  /** @param {string} what the titles, or how many there are @param {number} n the days that they stay */
  question: (what, n) =>
    `${what} will be in the bin for ${days(n)}, with all messages, and then gone for good.`,
  noWayBack: (/** @type {string} */ what) => `${what} and all its messages will be gone for good.`,
  remove: "Delete",
  removeNow: "Delete for good",
  removed: (/** @type {number} */ n) => `${conversations(n)} ${n === 1 ? "is" : "are"} in the bin.`,
  removedNow: (/** @type {number} */ n) => `${conversations(n)} ${n === 1 ? "was" : "were"} deleted for good.`,
  undo: "Undo",
  restored: (/** @type {number} */ n) => `${conversations(n)} ${n === 1 ? "is" : "are"} back.`,
  restoreOne: (/** @type {string} */ title) => `Restore ${title}`,
  removeOne: (/** @type {string} */ title) => `Delete ${title} for good`,
  loading: "The bin is being read.",
  none: "The bin is empty.",
  more: "Show more",
  empty: "Empty the bin",
  emptyTitle: "Empty the bin?",
  emptyText: (/** @type {number} */ n) => `${conversations(n)} will be gone for good, with all messages.`,
  emptied: "The bin is empty now.",
  close: "Close",
  untitled: "Conversation without a title",
  failed: (/** @type {string} */ why) => `That did not work. ${why}`,
});

export const exportWords = translated("bin.exportWords", {
  allVersions: "Save with all versions",
});
