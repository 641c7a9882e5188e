// Texts about dictation.

import { translated } from "../shared/language.js";

export const dictationWords = translated("dictation", {
  start: "Dictate",
  stop: "Stop and write it down",
  hearing: "Writing down what you said …",
  denied: "The browser gives this page no microphone. Allow it in the settings of this site.",
  missing: "There is no microphone.",
  nothing: "Nothing was heard. Speak closer to the microphone.",
  failed: (/** @type {string} */ why) => `What you said could not be written down. ${why}`,
});
