// Doing something with several conversations at once, in German.

/** @type {typeof import("../several.js").selectionWords} */
export const selectionWords = {
  begin: "Mehrere auswählen",
  bar: "Ausgewählte Unterhaltungen",
  count: (count) => `${count} ausgewählt`,
  select: (title) => `${title} auswählen`,
  archive: "Ausgewählte Unterhaltungen archivieren",
  move: "Ausgewählte Unterhaltungen in einen Ordner legen",
  remove: "Ausgewählte Unterhaltungen löschen",
  done: "Fertig",
  archived: (count) => (count === 1 ? "Eine Unterhaltung ist archiviert." : `${count} Unterhaltungen sind archiviert.`),
  removeTitle: (count) => (count === 1 ? "Diese Unterhaltung löschen?" : `${count} Unterhaltungen löschen?`),
  removeBody: "Ihre Nachrichten werden endgültig gelöscht.",
  what: (count) => (count === 1 ? "Eine Unterhaltung" : `${count} Unterhaltungen`),
  someFailed: (count, why) =>
    `${count === 1 ? "Eine Unterhaltung konnte" : `${count} Unterhaltungen konnten`} nicht geändert werden. ${why}`,
};
