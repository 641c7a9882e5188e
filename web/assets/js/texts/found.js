// The words for finding messages.

import { translated } from "../shared/language.js";

export const foundWords = translated("found", {
  heading: "In messages",
  more: "Show more messages",
  missing: "That message is no longer in this conversation.",
  failed: "The message could not be loaded. Choose it again.",
});
