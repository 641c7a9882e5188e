// The words of the versions of an answer or a question.

export const versionWords = {
  previous: "Previous version",
  next: "Next version",
  /** The accessible name. */
  name: (/** @type {number} */ index, /** @type {number} */ count) => `Version ${index} of ${count}`,
  place: (/** @type {number} */ index, /** @type {number} */ count) => `${index} of ${count}`,
};
