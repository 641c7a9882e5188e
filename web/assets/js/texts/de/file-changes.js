// Files that tools have changed, and that are put back, in German.

const files = (/** @type {number} */ n) => (n === 1 ? "1 Datei" : `${n} Dateien`);

/** @type {typeof import("../file-changes.js").fileWords} */
export const fileWords = {
  title: "Dateien zurücksetzen",
  putBack: (n) => `${files(n)} zurücksetzen`,
  changed: (n) => `Diese Antwort und spätere haben ${files(n)} geändert.`,
  lead: (n) =>
    `Diese Antwort und spätere haben ${files(n)} geändert. ${n === 1 ? "Sie wird wieder" : "Sie werden wieder"}, wie sie vorher ${n === 1 ? "war" : "waren"}; was jemand seitdem geändert hat, bleibt.`,
  leadFirst: (n) =>
    `Die Antwort, die ersetzt wird, und spätere haben ${files(n)} geändert. ${n === 1 ? "Soll sie" : "Sollen sie"} zuerst zurückgesetzt werden?`,
  putBackFirst: "Zurücksetzen und neu antworten",
  leave: "Dateien lassen",
  proceed: "Neu antworten",
  close: "Schließen",
  redo: "Rückgängig",
  done: (n) => (n === 0 ? "Keine Datei wurde zurückgesetzt." : `${files(n)} ${n === 1 ? "wurde" : "wurden"} zurückgesetzt.`),
  redone: (n) => `${files(n)} ${n === 1 ? "ist" : "sind"} wieder, wie der Assistent sie hinterlassen hat.`,
  commands: (n) =>
    `${n === 1 ? "Ein Befehl lief" : `${n} Befehle liefen`} ebenfalls. Was Befehle ändern, wird nicht festgehalten und bleibt.`,
  failed: (why) => `Das hat nicht geklappt. ${why}`,
  outcomes: {
    restored: "zurückgesetzt",
    removed: "entfernt",
    partly: "teilweise zurückgesetzt",
    changed_since: "wurde seitdem geändert und bleibt",
    already: "ist, wie sie vorher war",
    not_kept: "bleibt, weil nicht aufgehoben ist, was sie vorher war",
    failed: "konnte nicht zurückgesetzt werden",
  },
};
