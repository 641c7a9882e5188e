// The features, in German. What the server says of a feature stays English.

/** @type {typeof import("../features.js").featureWords} */
export const featureWords = {
  search: "Funktionen durchsuchen",
  failed: "Die Funktionen konnten nicht geladen werden",
  nothingTitle: "Nichts gefunden",
  nothing: (text) => `Keine Funktion passt zu „${text}“.`,
  emptyTitle: "Keine Funktionen verzeichnet",
  empty: "Hier führt Aethon auf, was es gerade kann.",
  groups: {
    degraded: { title: "Braucht Aufmerksamkeit", lead: "Eingerichtet, aber gestört." },
    on: { title: "An", lead: "Funktioniert gerade." },
    off: { title: "Aus", lead: "Möglich, aber nicht eingeschaltet." },
    unavailable: { title: "Hier nicht verfügbar", lead: "Dieser Version oder diesem Rechner fehlt, was es dazu braucht." },
  },
  states: {
    on: { label: "An", tone: "good", icon: "check" },
    off: { label: "Aus", tone: "", icon: "pause" },
    degraded: { label: "Gestört", tone: "bad", icon: "alert" },
    unavailable: { label: "Nicht verfügbar", tone: "warn", icon: "close" },
  },
  key: "Schlüssel",
  turnOn: "Einschalten",
  turnOnOf: (title) => `Einschalten: ${title}`,
  openKey: (key) => `${key} in der Konfiguration zeigen`,
  asOf: "Gelesen aus dem, was in diesem Augenblick läuft.",
};
