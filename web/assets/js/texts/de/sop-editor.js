// The words beside the text of an SOP that is edited, in German.

/** @type {typeof import("../sop-editor.js").besideWords} */
export const besideWords = {
  label: "Neben dem Text",
  preview: "Vorschau",
  outline: "Gliederung",
  versions: "Frühere Fassungen",
  noPreview: "Hier steht, was Sie schreiben, so wie es gelesen wird.",
  noOutline: "Hier werden die Überschriften aufgeführt, die Sie schreiben.",
  line: (n) => `Zeile ${n}`,
  versionsHint: "Eine übernommene Fassung ersetzt den Text im Editor; gespeichert wird erst mit „Speichern“.",
  noVersions: "Wenn diese SOP geändert wird, bleibt hier erhalten, was vorher darin stand.",
  versionsFailed: "Die früheren Fassungen konnten nicht geladen werden",
  until: (when) => `Gültig bis ${when}`,
  difference: "Unterschied",
  take: "Übernehmen",
  taken: "Die frühere Fassung steht im Editor.",
  undo: "Rückgängig",
};
