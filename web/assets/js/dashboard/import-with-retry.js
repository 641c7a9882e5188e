// Loads modules on demand. For the lifetime of a page, browsers remember an address that could not be loaded, so a module that
// failed because the server was restarting is requested under a different address the next time.

/** The number of failed loads of each module. @type {Map<string, number>} */
const failures = new Map();

/**
 * What the modules have that are loaded on demand.
 * @template {string} Name
 * @typedef {Name extends "palette" ? typeof import("./palette.js") : {mount: import("./panels.js").Mount}} Loaded
 */

/**
 * Loads the module `NAME.js` in this folder.
 * @template {"palette" | `panels/${string}/index`} Name @param {Name} name @returns {Promise<Loaded<Name>>}
 */
export async function importWithRetry(name) {
  const failed = failures.get(name) ?? 0;
  try {
    return await import(failed ? `./${name}.js?again=${failed}` : `./${name}.js`);
  } catch (problem) {
    failures.set(name, failed + 1);
    throw problem;
  }
}
