// Text as one word of a shell.

/** @param {string} text */
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
