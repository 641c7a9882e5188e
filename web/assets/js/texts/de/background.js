// Commands in the background, in German.

/** @type {typeof import("../background.js").backgroundWords} */
export const backgroundWords = {
  running: (n) => (n === 1 ? "1 Befehl läuft im Hintergrund" : `${n} Befehle laufen im Hintergrund`),
  stop: "Beenden",
  stopOf: (command) => `${command} beenden`,
  output: (command) => `Ausgabe von ${command}`,
  silent: "Noch keine Ausgabe.",
  failed: (why) => `Der Befehl wurde nicht beendet. ${why}`,
};
