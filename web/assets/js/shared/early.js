// The answers that a script in the head asked for before the modules came (`early/dashboard.js`), each handed over once.

/** @param {string} path @returns {Promise<Response> | undefined} */
export function takeEarly(path) {
  /** @type {Map<string, Promise<Response>> | undefined} */
  const asked = /** @type {any} */ (globalThis).aethonEarlyAnswers;
  const answer = asked?.get(path);
  asked?.delete(path);
  return answer;
}
