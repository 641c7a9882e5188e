// The words of the voice conversation.

import { translated } from "../shared/language.js";

export const voiceWords = translated("voice", {
  start: "Voice conversation",
  end: "End voice conversation",
  /** The same on its button, where a phone has little room. */
  endShort: "End",
  title: "Voice conversation",
  states: {
    starting: "Asking for the microphone …",
    listening: "Listening",
    transcribing: "Writing down what you said …",
    thinking: "Thinking …",
    speaking: "Speaking. Press any key or tap to interrupt.",
    waiting: "Waiting for your approval on the page",
  },
  understood: (/** @type {string} */ text) => `Understood: ${text}`,
  again: "That was not understood. Please say it again.",
  approval: (/** @type {string} */ tool) => `Your approval is needed for ${tool}. Please answer on the page.`,
  failed: (/** @type {string} */ why) => `There is no answer. ${why}`,

  // Why it ended.
  denied: "The voice conversation has ended: the browser gives this page no microphone. Allow it in the settings of this site.",
  missing: "The voice conversation has ended: there is no microphone.",
  silent: "The voice conversation has ended, because nothing was said for 30 seconds.",
  notUnderstood: "The voice conversation has ended, because nothing could be understood. Speak closer to the microphone.",
  notSent: (/** @type {string} */ why) => `The voice conversation has ended: your message was not sent. ${why}`,
  refused: (/** @type {string} */ why) => `The voice conversation has ended: what you said could not be written down. ${why}`,
  notLoaded: "The voice conversation could not be loaded. Reload the page and try again.",
});
