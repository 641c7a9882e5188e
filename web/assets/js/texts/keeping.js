// Texts about keeping conversations: archive, folders, files.

import { translated } from "../shared/language.js";

export const keepingWords = translated("keeping", {
  archived: "Archived",
  showArchived: (/** @type {number} */ n) => `Archived (${n})`,
  archive: "Archive",
  unarchive: "Back to the list",
  archiveDone: (/** @type {string} */ title) => `“${title}” is archived.`,
  undo: "Undo",
  move: "Move to a folder",
  moveTitle: "Move to a folder",
  moveLabel: "Folder",
  moveHint: "A new name makes a new folder. Leave it empty to take the conversation out.",
  saveMarkdown: "Save as Markdown",
  saveJson: "Save as JSON",
  failed: (/** @type {string} */ why) => `Nothing was changed. ${why}`,
});
