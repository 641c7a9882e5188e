// Loads a module when it is needed. A browser remembers that an address could not be fetched for as long as the page lives,
// so a module that did not come, because the server was restarting, is asked for under another address the next time.

/** How often each module did not come. @type {Map<string, number>} */
const failures = new Map();

/** The module `NAME.js` beside this one. @param {string} name @returns {Promise<any>} */
export async function later(name) {
  const failed = failures.get(name) ?? 0;
  try {
    return await import(failed ? `./${name}.js?again=${failed}` : `./${name}.js`);
  } catch (problem) {
    failures.set(name, failed + 1);
    throw problem;
  }
}
