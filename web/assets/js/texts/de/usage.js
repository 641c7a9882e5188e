// The usage, in German.

import { counted } from "./count.js";

/** @type {typeof import("../usage.js").usage} */
export const usage = {
  failed: "Der Verbrauch konnte nicht geladen werden",
  days: "Zeitraum",
  spans: [
    ["7", "Letzte 7 Tage"],
    ["30", "Letzte 30 Tage"],
    ["90", "Letzte 90 Tage"],
    ["366", "Letzte 366 Tage"],
  ],
  last: (n) => `Letzte ${counted(n)} Tage`,
  today: (day) => `Heute, ${day}`,
  spent: "Ausgegeben",
  calls: "Aufrufe",
  sent: "Gesendete Tokens",
  received: "Empfangene Tokens",
  cached: "Aus dem Zwischenspeicher",
  failedCalls: (n) => (n === 0 ? "Keiner fehlgeschlagen" : `${counted(n)} fehlgeschlagen`),
  saved: (amount) => `${amount} gespart`,
  perDay: (amount) => `${amount} am Tag im Durchschnitt`,
  chart: "Nach Tagen",
  measure: "Was das Diagramm zeigt",
  measures: [
    ["cost", "Kosten"],
    ["tokens", "Tokens"],
    ["calls", "Aufrufe"],
  ],
  legend: {
    cost: ["Kosten"],
    tokens: ["Gesendet", "Gesendet, aus dem Zwischenspeicher", "Empfangen"],
    calls: ["Erfolgreich", "Fehlgeschlagen"],
  },
  chartLabel: (what, span, total, day, most) =>
    `${what} nach Tagen, ${span.replace(/^L/, "l")}: ${total} insgesamt, am meisten am ${day} mit ${most}. Die Tabelle darunter hat jede Zahl.`,
  onDay: (day, amount) => `${day}: ${amount}`,
  byModel: "Nach Modell",
  byKind: "Nach Art der Arbeit",
  rows: "Jeder Tag, jedes Modell und jede Art der Arbeit",
  columns: {
    day: "Tag",
    model: "Modell",
    kind: "Für",
    calls: "Aufrufe",
    failed: "Fehler",
    sent: "Gesendet",
    cached: "Zwischenspeicher",
    received: "Empfangen",
    cost: "Kosten",
    share: "Anteil",
  },
  fromCache: (percent) => `${percent} % aus dem Zwischenspeicher`,
  total: "Summe",
  totals: {
    calls: (n) => `${n} Aufrufe`,
    sent: (n) => `${n} gesendet`,
    received: (n) => `${n} empfangen`,
  },
  only: (what) => `Nur ${what}`,
  everything: "Alles zeigen",
  emptyTitle: "Keine Aufrufe in diesem Zeitraum",
  empty:
    "Jeder Aufruf eines Modells wird hier gezählt, mit Tokens und Kosten. Schreiben Sie etwas im Chat, und sehen Sie dann noch einmal nach.",
};
