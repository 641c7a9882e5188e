// Dictation, in German.

/** @type {typeof import("../dictation.js").dictationWords} */
export const dictationWords = {
  start: "Diktieren",
  stop: "Beenden und aufschreiben",
  hearing: "Das Gesprochene wird aufgeschrieben …",
  denied: "Der Browser gibt dieser Seite kein Mikrofon. Bitte in den Einstellungen dieser Website erlauben.",
  missing: "Es gibt kein Mikrofon.",
  nothing: "Es war nichts zu hören. Bitte näher am Mikrofon sprechen.",
  failed: (why) => `Das Gesprochene konnte nicht aufgeschrieben werden. ${why}`,
};
