// Conversations that are not in view, in German.

/** @type {typeof import("../news.js").newsWords} */
export const newsWords = {
  unread: "Ungelesen",
  answered: (title) => `„${title}“ hat eine Antwort.`,
  waits: (title) => `„${title}“ wartet auf Ihre Entscheidung.`,
  open: "Öffnen",
  decide: "Entscheiden",
  notify: "Melden, wenn anderswo etwas geschieht",
  notifyOn: "Sie werden benachrichtigt, wenn eine Antwort fertig ist oder eine Frage wartet, solange diese Seite im Hintergrund offen ist.",
  notifyOff: "Sie werden nicht mehr benachrichtigt.",
  notifyBlocked:
    "Der Browser lässt für diese Adresse keine Benachrichtigungen zu. Bitte in seinen Einstellungen für diese Website erlauben.",
  titleCount: (n, title) => `(${n}) ${title}`,
};
