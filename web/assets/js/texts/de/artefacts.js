// The preview of a page or a picture in an answer, in German.

/** @type {typeof import("../artefacts.js").artefactWords} */
export const artefactWords = {
  preview: "Vorschau",
  hint: "Zeigen, wie dieser Code aussieht, in einem abgeschotteten Rahmen ohne Netz",
  choice: "Code oder Vorschau",
  code: "Code",
  frame: "Vorschau dieses Codes",
  height: "Höhe der Vorschau",
  full: "Vollbild",
  shrink: "Vollbild verlassen",
  save: "Als Datei speichern",
  close: "Vorschau schließen",
  blocked: "Diese Seite will etwas aus dem Netz, das eine Vorschau nicht hat. Vielleicht fehlt ihr etwas.",
  failed: "Die Vorschau konnte nicht geladen werden. Bitte die Seite neu laden und noch einmal versuchen.",
};
