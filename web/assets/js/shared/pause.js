// A breath between two pieces of work, so that a press is answered and a frame painted before the next: together they would
// hold up a phone.

/** @returns {Promise<void>} */
export const pause = () => /** @type {any} */ (globalThis).scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));
