// The words of the list of instances.

export const instanceWords = {
  failed: "The list of instances could not be loaded",
  title: "Instances",
  lead: "Every one of them serves this assistant.",
  here: "This one",
  there: "Running",
  started: (/** @type {string} */ version) => `Version ${version}, started`,
};
