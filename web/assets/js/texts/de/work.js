// Work that takes more than one turn, in German.

import { counted, plural } from "./count.js";

/** @type {typeof import("../work.js").workWords} */
export const workWords = {
  title: "Vorhaben",
  failed: "Die Vorhaben konnten nicht geladen werden",
  label: "Vorhaben mit mehreren Durchläufen, neueste zuerst",
  emptyTitle: "Noch keine Vorhaben",
  empty:
    "Bitten Sie den Assistenten um etwas mit mehreren Schritten. Er plant sie als Aufgaben, arbeitet sie im " +
    "Hintergrund ab und berichtet das Ergebnis.",
  offTitle: "Vorhaben sind aus",
  off: "`work.enabled` erlaubt dem Assistenten, Aufgaben zu planen und im Hintergrund abzuarbeiten.",
  ambient: "Auch Leerlauf wird genutzt.",
  pausedAll: "Alle Vorhaben sind angehalten.",
  pauseAll: "Alle anhalten",
  resumeAll: "Alle fortsetzen",
  allPaused: "Alle Vorhaben sind angehalten.",
  allResumed: "Alle Vorhaben gehen weiter.",
  pause: (goal) => `„${goal}“ anhalten`,
  resume: (goal) => `„${goal}“ fortsetzen`,
  cancel: (goal) => `„${goal}“ abbrechen`,
  willPause: "Es wird angehalten.",
  willResume: "Es wird fortgesetzt.",
  willStop: "Es wird abgebrochen.",
  cancelTitle: "Dieses Vorhaben abbrechen?",
  cancelBody: (goal) => `„${goal}“ endet mit einem Bericht über das, was getan wurde. Fortsetzen geht danach nicht mehr.`,
  cancelAction: "Vorhaben abbrechen",
  columns: {
    goal: "Ziel",
    state: "Zustand",
    tasks: "Aufgaben fertig",
    took: "Dauer",
    cost: "Kosten",
    when: "Geändert",
    actions: "Aktionen",
  },
  states: {
    queued: { label: "Wartet", tone: "", icon: "clock" },
    running: { label: "Läuft", tone: "accent", icon: "spark" },
    paused: { label: "Angehalten", tone: "warn", icon: "pause" },
    done: { label: "Fertig", tone: "good", icon: "check" },
    failed: { label: "Vorzeitig beendet", tone: "bad", icon: "alert" },
    stopped: { label: "Abgebrochen", tone: "", icon: "stop" },
  },
  wishes: { stop: "Wird abgebrochen", pause: "Wird angehalten", resume: "Wird fortgesetzt" },
  taskStates: { todo: "nicht begonnen", running: "in Arbeit", done: "fertig", failed: "fehlgeschlagen" },
  tasksDone: (done, all) => `${counted(done)} von ${plural(all, "Aufgabe", "Aufgaben")}`,
  reason: "Warum",
  turns: "Durchläufe",
  planned: "Geplant",
  conversation: "Unterhaltung",
  origin: "Bearbeitet",
  origins: { person: "Sofort", idle: "Im Leerlauf" },
  tasks: "Aufgaben",
  receipt: "Bericht",
};
