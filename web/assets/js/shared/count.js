// Formats whole numbers. Most are small, and creating the browser's formatter takes a phone milliseconds.

import { language } from "./language.js";
import { once } from "./once.js";

const format = once(() => new Intl.NumberFormat(language));

/** A number with thousands separators. @param {number} n */
export const counted = (n) => (isShort(n) ? String(n) : format().format(n));

/** Whether it reads the same without a formatter. @param {number} n */
export const isShort = (n) => n >= 0 && n < 1000 && Number.isInteger(n);

/** A number with that many digits after its point. @param {number} n @param {number} digits */
export const fixed = (n, digits) =>
  language === "en"
    ? n.toFixed(digits)
    : n.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
