// The approvals, in German.

import { counted, plural } from "./count.js";

/** @type {typeof import("../approvals.js").approvals} */
export const approvals = {
  waiting: "Wartet auf Sie",
  waitingFailed: "Die offenen Fragen konnten nicht geladen werden",
  leftEdits: "Eine Frage wurde entschieden, während Sie ihren Inhalt bearbeitet haben. Ihre Änderungen wurden nicht gesendet.",
  none: "Nichts wartet auf Ihre Freigabe",
  noneHint:
    "Wenn ein Werkzeug aus `approval.requires_approval` ausgeführt werden soll, erscheint die Frage hier und im Chat.",
  granted: "Für den Rest einer Unterhaltung erlaubt",
  takeBack: "Zurücknehmen",
  takenBack: "Danach wird wieder gefragt.",
  takeBackFailed: "Es wurde nicht zurückgenommen.",
  past: "Entscheidungen und Verweigerungen",
  pastLabel: "Entscheidungen und Verweigerungen, neueste zuerst",
  pastFailed: "Die bisherigen Entscheidungen konnten nicht geladen werden",
  pastEmptyTitle: "Noch wurde nichts entschieden",
  pastEmpty: "Was Sie erlauben und ablehnen und was die Regeln verweigern, wird hier festgehalten.",
  noMatchTitle: "Nichts passt dazu",
  noMatch: "Bitte Suchwörter oder Art ändern.",
  search: "Entscheidungen durchsuchen",
  kind: "Art",
  kinds: [
    ["", "Alle Arten"],
    ["approval", "Freigaben"],
    ["refusal", "Verweigerungen"],
    ["grant", "Dauerfreigaben"],
    ["tools", "Änderungen an Werkzeugen"],
  ],
  columns: { at: "Wann", subject: "Was", outcome: "Ergebnis", by: "Von", where: "Unterhaltung" },
  detail: "Worum es ging",
  outcomes: {
    approved: "Erlaubt",
    approve: "Erlaubt",
    done: "Fertig",
    denied: "Abgelehnt",
    deny: "Abgelehnt",
    refused: "Verweigert",
    timeout: "Keine Antwort",
    stopped: "Angehalten",
  },
  count: (shown, all) =>
    shown === all ? plural(all, "Zeile", "Zeilen") : `${counted(shown)} von ${plural(all, "Zeile", "Zeilen")}`,
  more: "Ältere",
};
