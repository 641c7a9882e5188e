// Loads modules on demand. For the lifetime of a page, browsers remember an address that could not be loaded, so a module that
// failed because the server was restarting is requested under a different address the next time.

/** The number of failed loads of each module. @type {Map<string, number>} */
const failures = new Map();

/** Loads the module `NAME.js` in this folder. @param {string} name @returns {Promise<any>} */
export async function importWithRetry(name) {
  const failed = failures.get(name) ?? 0;
  try {
    return await import(failed ? `./${name}.js?again=${failed}` : `./${name}.js`);
  } catch (problem) {
    failures.set(name, failed + 1);
    throw problem;
  }
}
