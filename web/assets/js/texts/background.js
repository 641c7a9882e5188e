// The words about commands that run in the background of a conversation.

import { translated } from "../shared/language.js";

export const backgroundWords = translated("background", {
  running: (/** @type {number} */ n) =>
    n === 1 ? "1 command runs in the background" : `${n} commands run in the background`,
  stop: "Stop",
  stopOf: (/** @type {string} */ command) => `Stop ${command}`,
  output: (/** @type {string} */ command) => `Output of ${command}`,
  silent: "No output yet.",
  failed: (/** @type {string} */ why) => `The command was not stopped. ${why}`,
});
