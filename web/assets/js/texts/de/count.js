// Numbers in German sentences.

const rules = new Intl.PluralRules("de");

/** A number with its separators. @param {number} n */
export const counted = (n) => n.toLocaleString("de");

/** @param {number} n @param {string} one @param {string} many */
export const plural = (n, one, many) => `${counted(n)} ${rules.select(n) === "one" ? one : many}`;

/** A number with that many digits after its comma. @param {number} n @param {number} digits */
export const fixed = (n, digits) =>
  n.toLocaleString("de", { minimumFractionDigits: digits, maximumFractionDigits: digits });
