// The slash menu, saved prompts, and the instructions of a conversation, in German.

/** @type {typeof import("../slash.js").slashWords} */
export const slashWords = {
  list: "Befehle, Prompts und SOPs",
  commands: "Befehle",
  prompts: "Gespeicherte Prompts",
  sops: "SOPs",
  optional: (name) => `${name} (freiwillig)`,
  count: (count) => (count === 1 ? "Ein Vorschlag" : `${count} Vorschläge`),
  details: {
    new: "Eine neue Unterhaltung beginnen",
    retry: "Die letzte Nachricht neu beantworten lassen",
    edit: "Die letzte eigene Nachricht bearbeiten",
    model: "Das Modell dieser Unterhaltung wählen",
    find: "Wörter in dieser Unterhaltung suchen",
    export: "Diese Unterhaltung als Markdown-Datei speichern",
    instructions: "Was der Assistent in dieser Unterhaltung beachtet",
    prompts: "Gespeicherte Prompts schreiben und ändern",
  },
  unknown: (name, near) =>
    `Einen Befehl /${name} gibt es hier nicht; nichts wurde gesendet.${near ? ` Am nächsten kommt /${near}.` : " Ein Schrägstrich allein listet alle auf."} Als Nachricht wird es mit zwei Schrägstrichen gesendet: //${name}`,
  nothingToExport: "In dieser Unterhaltung steht noch nichts.",
};

/** @type {typeof import("../slash.js").promptWords} */
export const promptWords = {
  title: "Gespeicherte Prompts",
  lead: "Ein Schrägstrich und der Name im Eingabefeld schreiben einen davon hin. {{Lücken}} werden markiert, zum Ausfüllen.",
  none: "Noch sind keine Prompts gespeichert.",
  add: "Neuer Prompt",
  edit: (name) => `${name} bearbeiten`,
  remove: (name) => `${name} löschen`,
  name: "Name",
  nameHint: "Kleinbuchstaben, Ziffern und Bindestriche.",
  content: "Prompt",
  save: "Speichern",
  back: "Zurück",
  close: "Schließen",
  removed: "Der Prompt wurde gelöscht.",
  undo: "Rückgängig",
  loading: "Die Prompts werden geladen …",
  failed: (why) => `Die Prompts konnten nicht geladen werden. ${why}`,
  exists: (name) => `Einen Prompt namens ${name} gibt es schon. Bitte einen anderen Namen wählen.`,
  badName: "Der Name muss aus 1 bis 64 Kleinbuchstaben, Ziffern und Bindestrichen bestehen.",
  empty: "Bitte zuerst den Prompt schreiben.",
  stayed: "Nichts wurde gespeichert: Der Prompt wurde anderswo geändert.",
};

/** @type {typeof import("../slash.js").instructionWords} */
export const instructionWords = {
  menu: "Anweisungen …",
  title: "Anweisungen für diese Unterhaltung",
  label: "Anweisungen",
  hint: "Sie folgen auf die eigenen Anweisungen des Assistenten, ab der nächsten Nachricht. Leer lassen, wenn es keine geben soll.",
  name: "Die Anweisungen",
  save: "Speichern",
  cancel: "Abbrechen",
  saved: "Die Anweisungen gelten ab der nächsten Nachricht.",
  cleared: "Die Unterhaltung hat keine eigenen Anweisungen mehr.",
  failed: (why) => `Die Anweisungen konnten nicht geladen werden. ${why}`,
};
