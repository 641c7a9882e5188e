// The words beside the text of an SOP that is edited.

import { translated } from "../shared/language.js";

export const besideWords = translated("sop-editor", {
  label: "Beside the text",
  preview: "Preview",
  outline: "Outline",
  versions: "Earlier versions",
  noPreview: "What you write is shown here as it is read.",
  noOutline: "Headings that you write are listed here.",
  line: (/** @type {number} */ n) => `line ${n}`,
  versionsHint: "Taking one into the editor replaces the text there; nothing is saved until you save.",
  noVersions: "When this SOP is changed, what it said before is kept here.",
  versionsFailed: "The earlier versions could not be loaded",
  until: (/** @type {string} */ when) => `Until ${when}`,
  difference: "Difference",
  take: "Take",
  taken: "The earlier version stands in the editor.",
  undo: "Undo",
});
