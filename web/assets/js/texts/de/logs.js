// The logs, in German. The lines themselves are English.

import { counted, plural } from "./count.js";

/** @type {typeof import("../logs.js").logs} */
export const logs = {
  failed: "Das Protokoll konnte nicht geladen werden",
  level: "Stufe",
  levels: [
    ["error", "Nur Fehler"],
    ["warn", "Ab Warnungen"],
    ["info", "Ab Normalem"],
    ["debug", "Ab Einzelheiten"],
    ["trace", "Alles"],
  ],
  target: "Teil",
  allTargets: "Alle Teile",
  search: "Protokoll durchsuchen",
  list: "Protokollzeilen, neueste zuerst",
  columns: { time: "Zeit", level: "Stufe", target: "Teil", message: "Was geschehen ist" },
  emptyTitle: "Keine Protokollzeilen auf dieser Stufe",
  empty:
    "Aethon hat seit dem Start nichts auf dieser Stufe protokolliert. Bitte eine niedrigere Stufe wählen; logging.level bestimmt, was überhaupt geschrieben wird.",
  noMatchTitle: "Keine Zeile passt dazu",
  noMatch: "Bitte Suchwörter oder Teil ändern.",
  line: "Protokollzeile",
  fields: "Felder",
  gap: (n) => `${counted(n)} Ereignisse fehlen hier, weil sie schneller kamen, als diese Seite sie aufnehmen konnte.`,
  kept: "Die neuesten 1.000 Zeilen bleiben im Speicher; ältere stehen in den Dateien unter logs/ in Aethons Ordner.",
  count: (shown, all) =>
    shown === all ? plural(all, "Zeile", "Zeilen") : `${counted(shown)} von ${plural(all, "Zeile", "Zeilen")}`,
};
