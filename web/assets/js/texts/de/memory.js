// The memory, in German.

import { counted, plural } from "./count.js";

/** @type {typeof import("../memory.js").memoryWords} */
export const memoryWords = {
  search: "Gedächtnis durchsuchen",
  category: "Kategorie",
  allCategories: (n) => (n > 0 ? `Alle Kategorien (${counted(n)})` : "Alle Kategorien"),
  categoryCount: (name, n) => `${name} (${counted(n)})`,
  add: "Erinnerung anlegen",
  list: "Erinnerungen",
  columns: {
    content: "Was gemerkt ist",
    category: "Kategorie",
    source: "Von",
    updated: "Geändert",
    score: "Passt",
    why: "Gefunden durch",
  },
  failed: "Das Gedächtnis konnte nicht geladen werden",
  emptyTitle: "Noch ist nichts gemerkt",
  empty:
    "Der Assistent merkt sich, was Sie ihm auftragen, und findet es wieder, wenn es wichtig ist. Legen Sie die erste Tatsache " +
    "selbst an, oder schreiben Sie im Chat „Merk dir, dass …“.",
  offTitle: "Das Langzeitgedächtnis ist aus",
  off: "`memory.enabled` auf true setzen und Aethon neu starten.",
  nothingTitle: "Nichts gefunden",
  nothing: (text) => `Nichts Gemerktes passt zu „${text}“.`,
  noneInCategory: "In dieser Kategorie steht nichts mehr.",
  stats: (recalled, vectors) =>
    `${plural(recalled, "wurde", "wurden")} in Antworten verwendet${
      vectors > 0 ? `, ${plural(vectors, "lässt", "lassen")} sich nach Bedeutung finden` : ""
    }`,
  results: (n) => plural(n, "Treffer", "Treffer"),
  score: (score) => `${score} %`,
  sources: {
    api: "Von Hand angelegt",
    tool: "Der Assistent",
    conversation: "Eine Unterhaltung",
    cli: "Das Terminal",
    learning: "Etwas Gelerntes",
  },
  scope: "Für",
  scopes: { owner: "Den Besitzer", shared: "Alle" },
  never: "Noch nie",

  one: "Erinnerung",
  id: "Kennung",
  thisOne: "Diese Erinnerung",
  asText: ({ content, category }) => `${content}\n\nKategorie: ${category}`,
  content: "Was gemerkt ist",
  contentHint: "Am besten eine Tatsache in einem Satz. Passwörter und Schlüssel werden nicht angenommen.",
  categoryHint: "Ein eigenes Wort, zum Beispiel Familie oder Arbeit.",
  addTitle: "Erinnerung anlegen",
  added: "Gemerkt.",
  known: "Das ist schon gemerkt.",
  edit: "Bearbeiten",
  editTitle: "Diese Erinnerung bearbeiten",
  saved: "Gespeichert. Der frühere Text bleibt als Verlauf erhalten.",
  remove: "Löschen",
  removeTitle: "Diese Erinnerung löschen?",
  removeBody: "Sie wird endgültig gelöscht, mit ihrem Verlauf. Der Assistent weiß dann nichts mehr davon.",
  removed: "Vergessen.",
  created: "Gemerkt seit",
  updated: "Zuletzt geändert",
  recalled: "Zuletzt in einer Antwort verwendet",
  source: "Von",
  history: "Frühere Fassungen",
  replaced: (category) => `in der Kategorie ${category}, ersetzt`,
  missingTitle: "Diese Erinnerung gibt es nicht",
  missing: "Sie wurde gelöscht, oder die Adresse ist falsch.",
};
