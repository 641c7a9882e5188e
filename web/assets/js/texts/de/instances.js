// The list of instances, in German.

/** @type {typeof import("../instances.js").instanceWords} */
export const instanceWords = {
  failed: "Die Liste der Instanzen konnte nicht geladen werden",
  title: "Instanzen",
  lead: "Jede von ihnen bedient diesen Assistenten.",
  here: "Diese hier",
  there: "Läuft",
  started: (version) => `Version ${version}, gestartet`,
};
