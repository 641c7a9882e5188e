// Describes a schema of the document in words and by an example. Pure: no page, no network.

import { docsWords } from "../texts/docs.js";

/** @typedef {Record<string, any>} Schema */

/**
 * Resolves a reference to a schema.
 * @param {Schema} document
 * @param {Schema} schema
 * @returns {Schema}
 */
export function resolved(document, schema) {
  const reference = schema?.$ref;
  if (typeof reference !== "string") return schema ?? {};
  const steps = reference.replace(/^#\//, "").split("/");
  return steps.reduce((part, step) => part?.[step], document) ?? {};
}

/**
 * Describes a value in one line.
 * @param {Schema} schema
 * @returns {string}
 */
export function typeOf(schema) {
  const { types } = docsWords;
  if (!schema) return types.anything;
  if (schema.$ref) return schema.$ref.split("/").pop();
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map(typeOf).join(types.or);
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.type === "array") return types.listOf(typeOf(schema.items));
  const type = Array.isArray(schema.type) ? schema.type.join(types.or) : (schema.type ?? types.anything);
  if (schema.format === "date-time") return type.replace("string", types.time);
  if (schema.minimum !== undefined && schema.maximum !== undefined)
    return types.range(type, schema.minimum, schema.maximum);
  return type;
}

/**
 * An example value with required fields only, so that it can be sent with little editing.
 * @param {Schema} document
 * @param {Schema} schema
 * @param {number} [depth]
 * @returns {any}
 */
export function example(document, schema, depth = 0) {
  const own = resolved(document, schema);
  if (depth > 4) return null;
  const choices = own.anyOf ?? own.oneOf;
  if (choices) return example(document, choices[0], depth + 1);
  if (own.enum) return own.enum[0];
  const type = Array.isArray(own.type) ? own.type[0] : own.type;
  if (type === "object") {
    const required = /** @type {string[]} */ (own.required ?? []);
    return Object.fromEntries(required.map((name) => [name, example(document, own.properties?.[name], depth + 1)]));
  }
  if (type === "array") return [];
  if (type === "integer" || type === "number") return own.minimum ?? 0;
  if (type === "boolean") return true;
  return type === "string" ? "" : null;
}

/**
 * Groups the operations by tag, in document order.
 * @param {Schema} document
 * @returns {Map<string, {method: string, path: string, operation: Schema}[]>}
 */
export function grouped(document) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(/** @type {Schema} */ (methods))) {
      const tag = operation.tags?.[0] ?? docsWords.otherTag;
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push({ method, path, operation });
    }
  }
  return groups;
}

/**
 * The address of a request with its parameters inserted.
 * @param {string} path
 * @param {{name: string, in: string}[]} parameters
 * @param {Record<string, string>} values
 */
export function address(path, parameters, values) {
  const query = new URLSearchParams();
  let filled = path;
  for (const parameter of parameters) {
    const value = values[parameter.name] ?? "";
    if (parameter.in === "header") continue;
    if (parameter.in === "path") filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (value !== "") query.set(parameter.name, value);
  }
  const text = query.toString();
  return text ? `${filled}?${text}` : filled;
}
