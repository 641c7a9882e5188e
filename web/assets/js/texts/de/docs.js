// The documentation of the API, in German. What the document itself says stays English.

/** @type {typeof import("../docs.js").docsWords} */
export const docsWords = {
  title: "Aethon-API",
  lead: "Alle Routen dieses Servers. Anfragen von dieser Seite tragen Ihre Anmeldung.",
  document: "OpenAPI-Dokument",
  dashboard: "Dashboard",
  search: "Operationen durchsuchen",
  nothing: "Keine Operation passt dazu.",
  failed: "Das Dokument konnte nicht geladen werden",
  parameters: "Parameter",
  body: "Inhalt",
  answers: "Antworten",
  columns: { status: "Status", meaning: "Bedeutung", type: "Typ" },
  open: "Für alle offen",
  tryIt: "Ausprobieren",
  sending: "Wird gesendet",
  download: "Diese Antwort ist eine Datei oder eine Seite; bitte im Browser öffnen.",
  answer: (status, ms) => `Antwort ${status} nach ${ms} ms`,
  unreachable: "Der Server antwortet nicht. Bitte prüfen, ob er läuft.",
  notJson: "Der Inhalt ist kein JSON. Bitte berichtigen und noch einmal versuchen.",
  required: "nötig",
  changes: (what) => `${what} senden? Das ändert etwas auf dem Server.`,
  otherTag: "Andere",
  types: {
    anything: "Beliebiges",
    or: " oder ",
    listOf: (type) => `Liste aus ${type}`,
    time: "Zeit",
    range: (type, from, to) => `${type} von ${from} bis ${to}`,
  },
};
