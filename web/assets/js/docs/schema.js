// Describes a schema of the document in words and by an example. Pure: no page, no network.

import { docsWords } from "../texts/docs.js";

/**
 * The parts of an OpenAPI document that the page reads.
 * @typedef {{$ref?: string, type?: string | string[], format?: string, enum?: string[], anyOf?: Schema[], oneOf?: Schema[], items?: Schema,
 *   minimum?: number, maximum?: number, properties?: Record<string, Schema>, required?: string[]}} Schema
 * @typedef {Record<string, {schema?: Schema}>} Content by media type
 * @typedef {{name: string, in: string, required?: boolean, schema?: Schema}} Parameter
 * @typedef {{operationId: string, summary: string, tags?: string[], security?: unknown[], parameters?: Parameter[],
 *   requestBody?: {content?: Content}, responses?: Record<string, {description: string, content?: Content}>}} Operation
 * @typedef {{paths?: Record<string, Record<string, Operation>>, components?: {schemas?: Record<string, Schema>}}} Document
 * @typedef {{method: string, path: string, operation: Operation}} Entry
 */

/**
 * Resolves a reference to a schema.
 * @param {Document} document
 * @param {Schema | undefined} schema
 * @returns {Schema}
 */
export function resolved(document, schema) {
  const reference = schema?.$ref;
  if (typeof reference !== "string") return schema ?? {};
  const steps = reference.replace(/^#\//, "").split("/");
  const found = steps.reduce(
    (/** @type {unknown} */ part, step) => /** @type {Record<string, unknown> | undefined} */ (part)?.[step],
    document,
  );
  return found ?? {};
}

/**
 * Describes a value in one line.
 * @param {Schema | undefined} schema
 * @returns {string}
 */
export function typeOf(schema) {
  const { types } = docsWords;
  if (!schema) return types.anything;
  if (schema.$ref) return schema.$ref.split("/").pop() ?? "";
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
 * @param {Document} document
 * @param {Schema | undefined} schema
 * @param {number} [depth]
 * @returns {unknown}
 */
export function example(document, schema, depth = 0) {
  const own = resolved(document, schema);
  if (depth > 4) return null;
  const choices = own.anyOf ?? own.oneOf;
  if (choices) return example(document, choices[0], depth + 1);
  if (own.enum) return own.enum[0];
  const type = Array.isArray(own.type) ? own.type[0] : own.type;
  if (type === "object") {
    const required = own.required ?? [];
    return Object.fromEntries(required.map((name) => [name, example(document, own.properties?.[name], depth + 1)]));
  }
  if (type === "array") return [];
  if (type === "integer" || type === "number") return own.minimum ?? 0;
  if (type === "boolean") return true;
  return type === "string" ? "" : null;
}

/**
 * Groups the operations by tag, in document order.
 * @param {Document} document
 */
export function grouped(document) {
  /** @type {Map<string, Entry[]>} */
  const groups = new Map();
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? docsWords.otherTag;
      const entries = groups.get(tag) ?? [];
      groups.set(tag, entries);
      entries.push({ method, path, operation });
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
