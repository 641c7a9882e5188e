// What was changed or deleted elsewhere, and leaving with unsaved text, in German.

/** @type {typeof import("../conflict.js").conflictWords} */
export const conflictWords = {
  title: "Anderswo geändert",
  text: (name, when) =>
    `${name}: ${when} geändert, nachdem Sie es hier geöffnet hatten, in einem anderen Fenster, vom Assistenten oder ` +
    `von einem Programm. Was Sie geschrieben haben, ist noch hier.`,
  meanwhile: "inzwischen",
  show: "Anzeigen",
  hide: "Ausblenden",
  mine: "Meine Fassung behalten",
  theirs: "Die andere übernehmen",
  stay: "Weiter bearbeiten",
  back: "Zurück",
  goneTitle: "Anderswo gelöscht",
  goneText: (name) =>
    `${name}: gelöscht, nachdem Sie es hier geöffnet hatten, in einem anderen Fenster, vom Assistenten oder von einem Programm. Was Sie geschrieben haben, ist noch hier.`,
  goneWhileRead: "Es wurde anderswo gelöscht, während es hier offen war.",
  mineAsNew: "Meine Fassung neu anlegen",
  letGo: "Verwerfen",
  ours: "Was Ihre Fassung ändern würde",
  changedThere: "Was anderswo geändert wurde",
  changedHere: "Was Sie geändert haben",
  noted: (when) => `Anderswo geändert, ${when}. Ungefragt wird nichts überschrieben.`,
  notedGone: "Anderswo gelöscht. Was Sie geschrieben haben, ist noch hier.",
  look: "Ansehen",
  took: "Sie sehen die andere Fassung. Ihre bleibt erhalten, bis Sie die Seite verlassen.",
  putBack: "Meine zurückholen",
  exists: "Es gibt schon eine Fassung",
  existsText: (name) => `${name} gibt es schon. Ihre Fassung würde sie ersetzen.`,
  removeText: (name) => `${name} wurde geändert, nachdem Sie es hier geöffnet hatten. Trotzdem löschen?`,
  removeAnyway: "Trotzdem löschen",
  keepIt: "Behalten",
  renamed: (theirs, mine) => `Der Name wurde anderswo geändert und lautet jetzt „${theirs}“. Sie hatten „${mine}“ eingegeben.`,
  tookTitle: (theirs) => `Der Name lautet jetzt „${theirs}“.`,
  goneAlready: "Es wurde anderswo bereits gelöscht.",
  shownNow: "Anderswo geändert. Sie sehen den jetzigen Stand.",

  unsavedTitle: "Ohne Speichern verlassen?",
  unsaved: "Was Sie hier geschrieben haben, geht verloren.",
  leave: "Verlassen",
};
