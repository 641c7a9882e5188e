// The words of what stands in and below a reply.

import { translated } from "../shared/language.js";

export const readingWords = translated("reading", {
  /** The accessible name of a mark in the text. */
  footnote: (/** @type {string} */ name) => `Footnote ${name}`,
  /** The accessible name of the mark in front of the note. */
  footnoteBack: (/** @type {string} */ name) => `Footnote ${name}: back to the text`,

  formula: "Formula",
  unreadFormula: "This formula could not be read.",
  diagram: "Diagram",
  showDiagram: "Show as diagram",
  showCode: "Show code",
  diagramTooLong: "it is too long",
  diagramFault: (/** @type {string} */ fault) => `The diagram could not be drawn: ${fault}`,

  outlineLabel: "Contents of this answer",
  outline: (/** @type {number} */ count) => `Contents, ${count} headings`,

  thinking: "Thinking…",
  thoughts: "Thoughts so far",
  thought: "Thought",
  /** How long the model thought, if that is known. */
  thoughtFor: (/** @type {string} */ time) => `Thought for ${time}`,
  thoughtShortly: "Thought for a moment",

  more: "More for this answer",
  copyMarkdown: "Copy as Markdown",
  copyRich: "Copy with formatting",
  copiedMarkdown: "Copied as Markdown.",
  copiedRich: "Copied with its formatting.",
  readAloud: "Read aloud",
  stopReading: "Stop reading aloud",
});
