// Yields between two pieces of work, so that input is handled and a frame painted in between: together they would block a phone
// for too long.

/** @returns {Promise<void>} */
export const pause = () =>
  /** @type {{scheduler?: {yield?: () => Promise<void>}}} */ (globalThis).scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));
