// The words of what stands in and below a reply.

export const readingWords = {
  /** The accessible name of a mark in the text. */
  footnote: (/** @type {string} */ name) => `Footnote ${name}`,
  /** The accessible name of the mark in front of the note. */
  footnoteBack: (/** @type {string} */ name) => `Footnote ${name}: back to the text`,
};
