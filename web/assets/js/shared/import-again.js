// Loads modules on demand. For the lifetime of a page, browsers remember an address that could not be loaded, so a module that
// failed because the server was restarting is requested under a different address the next time.

/** The number of failed loads of each address. @type {Map<string, number>} */
const failures = new Map();

/** @param {string} address the whole address of a module */
export async function importAgain(address) {
  const failed = failures.get(address) ?? 0;
  try {
    return await import(failed ? `${address}?again=${failed}` : address);
  } catch (problem) {
    failures.set(address, failed + 1);
    throw problem;
  }
}
