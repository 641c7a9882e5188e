// Finding messages, in German.

/** @type {typeof import("../found.js").foundWords} */
export const foundWords = {
  heading: "In Nachrichten",
  more: "Mehr Nachrichten anzeigen",
  missing: "Diese Nachricht steht nicht mehr in dieser Unterhaltung.",
  failed: "Die Nachricht konnte nicht geladen werden. Bitte noch einmal auswählen.",
};
