// The voice conversation, in German.

/** @type {typeof import("../voice.js").voiceWords} */
export const voiceWords = {
  start: "Sprachgespräch",
  end: "Sprachgespräch beenden",
  endShort: "Beenden",
  title: "Sprachgespräch",
  states: {
    starting: "Das Mikrofon wird angefragt …",
    listening: "Hört zu",
    transcribing: "Das Gesprochene wird aufgeschrieben …",
    thinking: "Denkt nach …",
    speaking: "Spricht. Unterbrechen mit einer Taste oder durch Tippen.",
    waiting: "Wartet auf Ihre Freigabe auf der Seite",
  },
  understood: (text) => `Verstanden: ${text}`,
  again: "Das wurde nicht verstanden. Bitte noch einmal sagen.",
  approval: (tool) => `Für ${tool} wird Ihre Freigabe gebraucht. Bitte auf der Seite antworten.`,
  failed: (why) => `Es gibt keine Antwort. ${why}`,

  denied: "Das Sprachgespräch ist beendet: Der Browser gibt dieser Seite kein Mikrofon. Bitte in den Einstellungen dieser Website erlauben.",
  missing: "Das Sprachgespräch ist beendet: Es gibt kein Mikrofon.",
  silent: "Das Sprachgespräch ist beendet, weil 30 Sekunden lang nichts gesagt wurde.",
  notUnderstood: "Das Sprachgespräch ist beendet, weil nichts zu verstehen war. Bitte näher am Mikrofon sprechen.",
  notSent: (why) => `Das Sprachgespräch ist beendet: Ihre Nachricht wurde nicht gesendet. ${why}`,
  refused: (why) => `Das Sprachgespräch ist beendet: Das Gesprochene konnte nicht aufgeschrieben werden. ${why}`,
  notLoaded: "Das Sprachgespräch konnte nicht geladen werden. Bitte die Seite neu laden und noch einmal versuchen.",
};
