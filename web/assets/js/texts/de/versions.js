// The versions of an answer or a question, in German.

/** @type {typeof import("../versions.js").versionWords} */
export const versionWords = {
  previous: "Vorige Fassung",
  next: "Nächste Fassung",
  name: (index, count) => `Fassung ${index} von ${count}`,
  place: (index, count) => `${index} von ${count}`,
};
