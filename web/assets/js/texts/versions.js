// The words of the versions of an answer or a question.

import { translated } from "../shared/language.js";

export const versionWords = translated("versions", {
  previous: "Previous version",
  next: "Next version",
  /** The accessible name. */
  name: (/** @type {number} */ index, /** @type {number} */ count) => `Version ${index} of ${count}`,
  place: (/** @type {number} */ index, /** @type {number} */ count) => `${index} of ${count}`,
});
