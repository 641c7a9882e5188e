// Several rows of a table, and what is done with them at once, in German.

import { counted, plural } from "./count.js";

/** @type {typeof import("../selection.js").selectionWords} */
export const selectionWords = {
  bar: "Auswahl",
  column: "Auswählen",
  choose: (name) => `„${name}“ auswählen`,
  count: (n) => `${counted(n)} ausgewählt`,
  all: "Alle gezeigten auswählen",
  none: "Keine auswählen",
  remove: "Löschen",
  archive: "Archivieren",
  download: "Herunterladen",
  undo: "Rückgängig",
  partly: (left, why) => `${plural(left, "wurde", "wurden")} ausgelassen: ${why}`,
  sessions: {
    removeTitle: (n) => `${plural(n, "Unterhaltung", "Unterhaltungen")} löschen?`,
    named: (names, more) =>
      names.map((name) => `„${name}“`).join(", ") + (more > 0 ? ` und ${more.toLocaleString("de")} weitere` : ""),
    removeBody: (what) => `${what}: mit allen Nachrichten endgültig löschen.`,
    archived: (n) => `${plural(n, "Unterhaltung", "Unterhaltungen")} archiviert.`,
    unarchived: (n) => `${plural(n, "Unterhaltung ist", "Unterhaltungen sind")} wieder da.`,
    file: "unterhaltungen.md",
  },
  memory: {
    removeTitle: (n) => `${plural(n, "Erinnerung", "Erinnerungen")} löschen?`,
    removeBody: "Antworten wissen dann nichts mehr davon, und der Verlauf wird mit gelöscht.",
    removed: (n) => `${plural(n, "Erinnerung", "Erinnerungen")} gelöscht.`,
  },
};
