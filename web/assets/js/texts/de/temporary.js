// Temporary conversations, in German.

/** @type {typeof import("../temporary.js").temporaryWords} */
export const temporaryWords = {
  begin: "Temporärer Chat",
  title: "Temporärer Chat",
  note: "Wird nicht gespeichert: weg, sobald er verlassen oder neu geladen wird oder der Server endet. Die Kosten zählen. Werkzeuge wirken wie sonst.",
  command: "Eine Unterhaltung beginnen, die nicht gespeichert wird",
  over: "Der temporäre Chat, der hier offen war, ist vorbei.",
};
