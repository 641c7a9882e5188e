// Texts about conversations that are not in view.

import { translated } from "../shared/language.js";

/** @param {string} title */
const quoted = (title) => `“${title}”`;

export const newsWords = translated("news", {
  unread: "Unread",
  answered: (/** @type {string} */ title) => `${quoted(title)} has an answer.`,
  waits: (/** @type {string} */ title) => `${quoted(title)} waits for your decision.`,
  open: "Open",
  decide: "Decide",
  notify: "Tell me when something happens elsewhere",
  notifyOn: "You will be told when a reply is ready or a question waits, while this page is open in the background.",
  notifyOff: "You will not be told any more.",
  notifyBlocked: "The browser does not allow notifications for this address. Allow them in its settings for this site.",
  titleCount: (/** @type {number} */ n, /** @type {string} */ title) => `(${n}) ${title}`,
});
