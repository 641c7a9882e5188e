// Describes configuration values.

import { configWords as words } from "../../../texts/config.js";

/** @import { Entry } from "./model.js" */

/** @param {Entry} entry */
export function valueText(entry) {
  if (entry.isSecret) return entry.value ? "***" : words.unset;
  return text(entry.value);
}

/** @param {unknown} value */
export function text(value) {
  if (value === null || value === undefined) return words.unset;
  if (
    value === "" ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof value === "object" && Object.keys(value).length === 0)
  )
    return words.empty;
  if (Array.isArray(value) && value.every((inner) => typeof inner !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The values that a key accepts. @param {Entry} entry */
export function takes(entry) {
  if (entry.allowed.length > 0) return words.oneOf(entry.allowed);
  const kind = words.kinds[entry.kind] ?? entry.kind;
  return entry.least !== null || entry.most !== null ? `${kind}, ${words.range(entry.least, entry.most)}` : kind;
}
