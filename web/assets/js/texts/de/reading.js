// What stands in and below a reply, in German.

/** @type {typeof import("../reading.js").readingWords} */
export const readingWords = {
  footnote: (name) => `Fußnote ${name}`,
  footnoteBack: (name) => `Fußnote ${name}: zurück zum Text`,

  formula: "Formel",
  unreadFormula: "Diese Formel konnte nicht gelesen werden.",
  diagram: "Diagramm",
  showDiagram: "Als Diagramm zeigen",
  showCode: "Code zeigen",
  diagramTooLong: "es ist zu lang",
  diagramFault: (fault) => `Das Diagramm konnte nicht gezeichnet werden: ${fault}`,

  outlineLabel: "Inhalt dieser Antwort",
  outline: (count) => `Inhalt, ${count} Überschriften`,

  thinking: "Denkt nach …",
  thoughts: "Gedanken bisher",
  thought: "Gedanken",
  thoughtFor: (time) => `Hat ${time} nachgedacht`,
  thoughtShortly: "Hat kurz nachgedacht",

  more: "Mehr zu dieser Antwort",
  copyMarkdown: "Als Markdown kopieren",
  copyRich: "Mit Formatierung kopieren",
  copiedMarkdown: "Als Markdown kopiert.",
  copiedRich: "Mit Formatierung kopiert.",
  readAloud: "Vorlesen",
  stopReading: "Vorlesen beenden",
};
