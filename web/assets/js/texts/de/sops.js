// The SOPs, in German. The headings of their files are part of the format and stay English.

import { fixed, plural } from "./count.js";

/** @type {typeof import("../sops.js").sopWords} */
export const sopWords = {
  list: "SOPs",
  tabs: { list: "SOPs", runs: "Läufe" },
  search: "SOPs durchsuchen",
  write: "SOP schreiben",
  failed: "Die SOPs konnten nicht geladen werden",
  emptyTitle: "Keine SOPs",
  empty: "Eine SOP ist ein Text mit Schritten, denen der Assistent folgt. Schreiben Sie die erste.",
  nothingTitle: "Nichts gefunden",
  nothing: (text) => `Keine SOP passt zu „${text}“.`,
  off: "SOPs sind aus.",
  columns: { name: "SOP", about: "Was sie tut", steps: "Schritte", parameters: "Nimmt", type: "Art" },
  types: { builtin: "Eingebaut", custom: "Eigene" },
  steps: (n) => plural(n, "Schritt", "Schritte"),
  parameters: (n) => (n === 0 ? "Nichts" : plural(n, "Wert", "Werte")),
  broken: (n) =>
    plural(
      n,
      "Datei heißt wie eine SOP, lässt sich aber nicht als solche lesen",
      "Dateien heißen wie SOPs, lassen sich aber nicht als solche lesen",
    ),
  invalid: "Die Datei ist keine gültige SOP und zählt deshalb nicht",
  fault: (line, message) => `Zeile ${line}: ${message}`,

  run: "Ausführen",
  runTitle: (title) => `${title} ausführen`,
  runLead: "Sie läuft in einer eigenen Unterhaltung, die Sie im Chat verfolgen und in der Sie antworten können.",
  runInput: "Was sie sonst noch wissen soll",
  started: "Gestartet.",
  openChat: "Chat öffnen",
  required: "nötig",
  optional: "freiwillig",
  by: (value) => `Sonst ${value}.`,
  edit: "Bearbeiten",
  copy: "Kopie bearbeiten",
  copyHint:
    "Eingebaute SOPs bleiben, wie sie sind. Unter demselben Namen gespeichert, gilt Ihre statt der eingebauten; unter einem anderen gibt es beide.",
  remove: "Löschen",
  removeTitle: "Diese SOP löschen?",
  removeBody: (name) =>
    `Die Datei von „${name}“ wird endgültig gelöscht. Hat eine eingebaute SOP denselben Namen, gilt diese wieder.`,
  removed: "SOP gelöscht.",
  callIt: "Im Chat",
  file: "Datei",
  kind: "Art",
  size: "Größe",
  bytes: (n) => (n < 1024 ? plural(n, "Byte", "Byte") : `${fixed(n / 1024, 1)} KB`),
  takes: "Nimmt",
  tabsOne: { read: "Lesen", source: "Quelltext", runs: "Läufe", versions: "Frühere Fassungen" },
  versionsFailed: "Die früheren Fassungen konnten nicht geladen werden",
  noVersionsTitle: "Keine früheren Fassungen",
  noVersions: "Wenn diese SOP geändert wird, bleibt hier erhalten, was vorher darin stand: die letzten 20 Fassungen.",
  versionUntil: "Gültig bis",
  versionView: "Ansehen",
  versionDiff: "Unterschied zu jetzt",
  versionRestore: "Wiederherstellen",
  versionTitle: (when) => `Bis ${when}`,
  versionLines: (n) => plural(n, "Zeile", "Zeilen"),
  restoreTitle: "Diese Fassung wiederherstellen?",
  restoreText: "Sie wird zum Text dieser SOP. Was jetzt darin steht, bleibt als frühere Fassung erhalten.",
  restored: "Wiederhergestellt.",
  missingTitle: "Diese SOP gibt es nicht",
  missing: "Sie wurde gelöscht, oder die Adresse ist falsch.",
  toList: "Alle SOPs",
  oneFailed: "Die SOP konnte nicht geladen werden",

  runsFailed: "Die Läufe konnten nicht geladen werden",
  noRunsTitle: "Noch ist nichts gelaufen",
  noRuns: "Hier stehen die Läufe von SOPs, mit dem Schritt, den sie erreicht haben.",
  runColumns: {
    sop: "SOP",
    state: "Zustand",
    steps: "Schritte fertig",
    session: "In",
    started: "Begonnen",
    cost: "Kosten",
    actions: "Aktionen",
  },
  states: {
    asking: { label: "Fragt nach Werten", tone: "warn", icon: "info" },
    running: { label: "Läuft", tone: "accent", icon: "clock" },
    waiting: { label: "Wartet auf Sie", tone: "warn", icon: "info" },
    done: { label: "Fertig", tone: "good", icon: "check" },
    failed: { label: "Fehlgeschlagen", tone: "bad", icon: "alert" },
    stopped: { label: "Angehalten", tone: "", icon: "stop" },
  },
  stepsDone: (done, all) => `${done} von ${all}`,
  resume: "Fortsetzen",
  resumed: "Der Lauf wird fortgesetzt.",

  newTitle: "SOP schreiben",
  editTitle: (name) => `${name} bearbeiten`,
  name: "Name",
  nameHint: "Kleinbuchstaben, Ziffern und Bindestriche. Im Chat wird sie als /name ausgeführt.",
  content: "Text",
  contentHint: "Ein Titel, ein Overview, Parameters, wenn sie welche braucht, und Steps.",
  lintOk: "Keine Fehler gefunden.",
  lintFaults: (n) => plural(n, "Fehler", "Fehler"),
  lintRemarks: (n) => plural(n, "Hinweis", "Hinweise"),
  saved: "Gespeichert.",
  changes: "Was Sie geändert haben",
  preview: "Änderungen zeigen",
  hidePreview: "Änderungen ausblenden",
  template: `# Mein Ablauf

## Overview

Sagt in ein oder zwei Sätzen, was dies tut und wann es gebraucht wird.

## Parameters

- **thema** (required): Worum es geht.

## Steps

### 1. Erster Schritt

Was zu tun ist.

**Constraints:**
- You MUST sagen, was du gefunden hast.
`,
};
