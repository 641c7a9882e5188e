// Keeping conversations: archive, folders, files, in German.

/** @type {typeof import("../keeping.js").keepingWords} */
export const keepingWords = {
  archived: "Archiviert",
  showArchived: (n) => `Archiviert (${n})`,
  archive: "Archivieren",
  unarchive: "Zurück in die Liste",
  archiveDone: (title) => `„${title}“ ist archiviert.`,
  undo: "Rückgängig",
  move: "In einen Ordner legen",
  moveTitle: "In einen Ordner legen",
  moveLabel: "Ordner",
  moveHint: "Ein neuer Name legt einen neuen Ordner an. Leer lassen, um die Unterhaltung herauszunehmen.",
  saveMarkdown: "Als Markdown speichern",
  saveJson: "Als JSON speichern",
  failed: (why) => `Nichts wurde geändert. ${why}`,
};
