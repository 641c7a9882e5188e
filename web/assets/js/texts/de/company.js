// The live office, in German.

import { counted } from "./count.js";

/** @type {typeof import("../company.js").company} */
export const company = {
  main: "Aethon",
  owner: "Sie",
  mainRole: "Hauptagent",
  failed: "Wer gerade arbeitet, konnte nicht geladen werden",
  picture: "Die Zeichnung eines Büros, in dem jeder Agent dort ist, wo er arbeitet. Die Liste sagt dasselbe in Worten.",
  people: "Wer was tut",
  doors: "Türen",
  waitsShort: "wartet auf Sie",
  answers: "antwortet",
  states: { idle: "Untätig", thinking: "Denkt nach", tool: "Arbeitet", waiting: "Wartet auf Sie", failed: "Fehlgeschlagen" },
  uses: (tool) => `Verwendet ${tool}`,
  waitsFor: (tool) => `Wartet auf Ihre Freigabe für ${tool}`,
  whys: {
    error: "Der letzte Durchlauf endete mit einem Fehler.",
    failed: "Der letzte Durchlauf endete mit einem Fehler.",
    limit: "Der letzte Durchlauf endete an einer Grenze.",
    budget: "Das Budget ließ den letzten Durchlauf nicht zu.",
  },
  others: (n) => (n === 1 ? "und eine weitere Unterhaltung" : `und ${counted(n)} weitere Unterhaltungen`),
  places: {
    desk: "am Schreibtisch",
    shelf: "am Regal des Gedächtnisses",
    terminal: "am Terminal",
    cabinet: "am Aktenschrank",
    window: "am Fenster zum Web",
    door: "an der Tür",
    clock: "unter der Uhr",
    chair: "vor Ihrem Schreibtisch",
    colleague: "bei einem Kollegen",
  },
  says: (name, what) => `${name}: ${what}.`,
  decide: "Entscheiden",
  conversation: "Unterhaltung",
  task: "Auftrag",
  since: "Seit",
  place: "Wo",
  lastTool: "Letztes Werkzeug",
  role: "Rolle",
  noneYet: "Noch keines",
  follow: "Im Monitor verfolgen",
  history: "Was vorher war",
  lastMessage: (when) => `letzte Nachricht ${when}`,
  quiet: "bisher ruhig",
  inTray: (n) =>
    n === 0
      ? "Der Eingangskorb ist leer"
      : n === 1
        ? "Eine Nachricht liegt im Eingangskorb"
        : `${counted(n)} Nachrichten liegen im Eingangskorb`,
  job: (name) => `Der Job ${name} läuft`,
  noJob: "Kein Job läuft",
  more: (n) =>
    n === 1
      ? "Ein weiterer Spezialist hat keinen Schreibtisch in der Zeichnung; in der Liste stehen alle."
      : `${counted(n)} weitere Spezialisten haben keinen Schreibtisch in der Zeichnung; in der Liste stehen alle.`,
};
