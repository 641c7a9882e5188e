// Finding one's way in a long conversation, in German.

/** @type {typeof import("../finding.js").findingWords} */
export const findingWords = {
  menu: "Optionen dieser Unterhaltung",
  find: "In dieser Unterhaltung suchen",
  older: "Älterer Treffer",
  newer: "Neuerer Treffer",
  close: "Fertig",
  none: "Nichts gefunden",
  toBeginning: "Zum Anfang",
  toDate: "Zu einem Datum",
  date: "Datum",
  go: "Los",
  cancel: "Abbrechen",
  nothingSince: "Von diesem Tag an steht nichts in dieser Unterhaltung.",
  loadFailed: "Die Nachrichten konnten nicht geladen werden. Bitte noch einmal versuchen.",
  place: (at, count, hasMore) => `${at} von ${count}${hasMore ? "+" : ""}`,
  failed: (why) => `Die Suche ist fehlgeschlagen: ${why}`,
};
