// The answers requested by a script in the head before the modules loaded (`early/dashboard.js`), each handed over once.

/** @param {string} path @returns {Promise<Response> | undefined} */
export function takeEarly(path) {
  const asked = /** @type {{aethonEarlyAnswers?: Map<string, Promise<Response>>}} */ (globalThis).aethonEarlyAnswers;
  const answer = asked?.get(path);
  asked?.delete(path);
  return answer;
}
