// Numbers in full. Most are small, and a format of the browser's takes a phone milliseconds to make.

import { once } from "./once.js";

const format = once(() => new Intl.NumberFormat("en"));

/** A number with its thousands set apart. @param {number} n */
export const counted = (n) => (isShort(n) ? String(n) : format().format(n));

/** Whether it reads the same without a format. @param {number} n */
export const isShort = (n) => n >= 0 && n < 1000 && Number.isInteger(n);
