// The bin, and files with all versions, in German.

const days = (/** @type {number} */ n) => (n === 1 ? "einen Tag" : `${n} Tage`);
const conversations = (/** @type {number} */ n) => (n === 1 ? "Eine Unterhaltung" : `${n} Unterhaltungen`);

/** @type {typeof import("../bin.js").binWords} */
export const binWords = {
  title: "Papierkorb",
  open: "Papierkorb",
  lead: (n) =>
    n > 0
      ? `Gelöschte Unterhaltungen bleiben hier ${days(n)}, danach sind sie endgültig weg.`
      : "Gelöschte Unterhaltungen sind sofort weg (session.bin_days ist 0).",
  titled: (title) => `„${title}“`,
  question: (what, n) => `${what}: für ${days(n)} im Papierkorb, mit allen Nachrichten, danach endgültig gelöscht.`,
  noWayBack: (what) => `${what} und alle Nachrichten darin werden endgültig gelöscht.`,
  remove: "Löschen",
  removeNow: "Endgültig löschen",
  removed: (n) => `${conversations(n)} ${n === 1 ? "liegt" : "liegen"} im Papierkorb.`,
  removedNow: (n) => `${conversations(n)} ${n === 1 ? "wurde" : "wurden"} endgültig gelöscht.`,
  undo: "Rückgängig",
  restored: (n) => `${conversations(n)} ${n === 1 ? "ist" : "sind"} wieder da.`,
  restoreOne: (title) => `${title} wiederherstellen`,
  removeOne: (title) => `${title} endgültig löschen`,
  loading: "Der Papierkorb wird gelesen.",
  none: "Der Papierkorb ist leer.",
  more: "Mehr anzeigen",
  empty: "Papierkorb leeren",
  emptyTitle: "Papierkorb leeren?",
  emptyText: (n) => `${conversations(n)} ${n === 1 ? "wird" : "werden"} endgültig gelöscht, mit allen Nachrichten.`,
  emptied: "Der Papierkorb ist jetzt leer.",
  close: "Schließen",
  untitled: "Unterhaltung ohne Titel",
  failed: (why) => `Das hat nicht geklappt. ${why}`,
};

/** @type {typeof import("../bin.js").exportWords} */
export const exportWords = {
  allVersions: "Mit allen Versionen speichern",
};
