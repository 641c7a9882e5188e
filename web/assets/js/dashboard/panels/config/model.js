// The configuration as a list of keys, each with its value, its default, and its description in the schema.

import { quoted } from "../../../shared/shell-quote.js";

/** @import { ConfigKey } from "../../../wire/api.js" */

/**
 * @typedef {{key: string, section: string, value: unknown, fallback: unknown, description: string, kind: string, allowed: string[],
 *   least: number | null, most: number | null, isSecret: boolean, isChanged: boolean, isTextList: boolean, origin?: Origin}} Entry
 * @typedef {Pick<ConfigKey, "key" | "source" | "place" | "secret" | "needs_restart">} Origin
 *
 * What the page reads of the schema.
 * @typedef {{$ref?: string, $defs?: Record<string, Shape>, properties?: Record<string, Shape>, default?: unknown, type?: string | string[],
 *   description?: string, enum?: string[], minimum?: number, exclusiveMinimum?: number, maximum?: number, writeOnly?: boolean,
 *   items?: Shape}} Shape
 */

/** A table of the configuration by its keys; anything else has none. @param {unknown} value */
const tableOf = (value) =>
  typeof value === "object" && value !== null ? /** @type {Record<string, unknown>} */ (value) : {};

/** The value at a key. @param {unknown} dump @param {string} key */
export const valueAt = (dump, key) =>
  key.split(".").reduce((/** @type {unknown} */ value, name) => tableOf(value)[name], dump);

/**
 * @param {unknown} dump @param {Shape} schema @param {Origin[]} [origins] the origin of each value, if known
 * @returns {Entry[]}
 */
export function configEntries(dump, schema, origins = []) {
  /** @type {Entry[]} */ const entries = [];
  walk(entries, [], dump, resolve(schema, schema), schema, undefined);
  const byKey = new Map(origins.map((origin) => [origin.key, origin]));
  return entries.map((entry) => {
    const origin = byKey.get(entry.key);
    return origin
      ? { ...entry, origin, isSecret: entry.isSecret || origin.secret, isChanged: origin.source !== "default" }
      : entry;
  });
}

/** @param {Shape | undefined} part @param {Shape} root @returns {Shape} */
function resolve(part, root) {
  const name = /^#\/\$defs\/(.+)$/.exec(part?.$ref ?? "")?.[1];
  return name ? { ...root.$defs?.[name], ...part } : (part ?? {});
}

/** @param {Entry[]} entries @param {string[]} path @param {unknown} value @param {Shape} shape @param {Shape} root @param {unknown} fallback */
function walk(entries, path, value, shape, root, fallback) {
  const properties = shape.properties ?? {};
  for (const name of [...new Set([...Object.keys(properties), ...Object.keys(tableOf(value))])].sort()) {
    const below = resolve(properties[name], root);
    const usual = below.default !== undefined ? below.default : tableOf(fallback)[name];
    const here = tableOf(value)[name];
    if (below.properties) walk(entries, [...path, name], here, below, root, usual);
    else entries.push(leaf([...path, name], here, below, usual));
  }
}

/** @param {string[]} path @param {unknown} value @param {Shape} shape @param {unknown} fallback @returns {Entry} */
function leaf(path, value, shape, fallback) {
  const kinds = [shape.type ?? []].flat().filter((kind) => kind !== "null");
  return {
    key: path.join("."),
    section: path.length > 1 ? path.slice(0, -1).join(".") : "",
    value,
    fallback,
    description: shape.description ?? "",
    kind: kinds[0] ?? (Array.isArray(value) ? "array" : typeof value),
    allowed: shape.enum ?? [],
    least: shape.minimum ?? shape.exclusiveMinimum ?? null,
    most: shape.maximum ?? null,
    isSecret: Boolean(shape.writeOnly),
    isTextList: shape.items?.type === "string",
    isChanged: fallback !== undefined && JSON.stringify(value ?? null) !== JSON.stringify(fallback ?? null),
  };
}

/** Groups entries by section, in order. @param {Entry[]} entries @returns {{name: string, entries: Entry[]}[]} */
export function sectionsOf(entries) {
  /** @type {Map<string, Entry[]>} */ const sections = new Map();
  for (const entry of entries) sections.set(entry.section, [...(sections.get(entry.section) ?? []), entry]);
  return [...sections]
    .map(([name, members]) => ({ name, entries: members }))
    .sort((one, other) => one.name.localeCompare(other.name));
}

/** A value in the syntax of config.toml. @param {unknown} value @returns {string} */
export function asToml(value) {
  if (value === null || value === undefined) return '""';
  if (Array.isArray(value)) return `[${value.map(asToml).join(", ")}]`;
  if (typeof value === "object")
    return `{ ${Object.entries(value)
      .map(([name, inner]) => `${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)} = ${asToml(inner)}`)
      .join(", ")} }`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** A value as its field shows it. @param {Entry} entry @returns {string} */
export function fieldText({ value, kind, isTextList }) {
  if (value === null || value === undefined) return "";
  if (kind === "array" && isTextList && Array.isArray(value)) return value.join("\n");
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

/**
 * Parses the text of a field. Text that does not parse is passed on unchanged, and the server says what is wrong with it.
 * @param {Entry} entry @param {string} text @returns {unknown}
 */
export function parsedValue({ kind, isTextList, fallback }, text) {
  const trimmed = text.trim();
  if (kind === "array" && isTextList)
    return text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  if (trimmed === "" && (fallback === null || kind === "integer" || kind === "number")) return null;
  if (kind === "boolean") return trimmed === "true";
  if (kind === "integer" || kind === "number") return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
  if (kind !== "array" && kind !== "object") return text;
  try {
    return JSON.parse(trimmed);
  } catch {
    return text;
  }
}

/** The command that gives a key this value in a terminal. @param {Entry} entry @param {unknown} value */
export function terminalCommand(entry, value) {
  const key = shellWord(entry.key);
  return value === null || value === undefined
    ? `aethon-cli config unset ${key}`
    : `aethon-cli config set ${key} ${shellWord(value)}`;
}

/** @param {unknown} value */
function shellWord(value) {
  const text = typeof value === "object" ? asToml(value) : String(value);
  return /^[\w./:@-]+$/.test(text) ? text : quoted(text);
}
