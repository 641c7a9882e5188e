// The words of the list of instances.

import { translated } from "../shared/language.js";

export const instanceWords = translated("instances", {
  failed: "The list of instances could not be loaded",
  title: "Instances",
  lead: "Every one of them serves this assistant.",
  here: "This one",
  there: "Running",
  started: (/** @type {string} */ version) => `Version ${version}, started`,
});
