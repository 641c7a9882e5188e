// One operation: its parameters and responses, and a form that sends a request.

import { at } from "../shared/base.js";
import { make, fill } from "../shared/dom.js";
import { docsWords as words } from "../texts/docs.js";
import { address, example, resolved, typeOf } from "./schema.js";

/** The maximum number of characters shown of an answer. */
const MOST = 200_000;

/**
 * @param {Record<string, any>} document
 * @param {{method: string, path: string, operation: Record<string, any>}} entry
 */
export function operationView(document, { method, path, operation }) {
  const body = make("div", { class: "docs-body" });
  const view = make(
    "details",
    { class: "docs-operation", id: operation.operationId },
    make(
      "summary",
      {},
      make("span", { class: "docs-method" }, method.toUpperCase()),
      make("span", { class: "docs-path" }, path),
      make("span", { class: "docs-summary" }, operation.summary, operation.security ? null : ` ${words.open}.`),
    ),
    body,
  );
  // Built when it is first expanded, because there are many operations.
  view.addEventListener("toggle", () => {
    if (view.open && !body.hasChildNodes()) fill(body, form(document, method, path, operation), answers(operation));
  });
  return view;
}

/**
 * @param {Record<string, any>} document
 * @param {string} method
 * @param {string} path
 * @param {Record<string, any>} operation
 */
function form(document, method, path, operation) {
  const parameters = /** @type {any[]} */ (operation.parameters ?? []);
  const bodySchema = operation.requestBody?.content?.["application/json"]?.schema;
  /** @type {Map<string, HTMLInputElement | HTMLSelectElement>} */
  const inputs = new Map();
  const fields = parameters.map((parameter) => {
    const id = `${operation.operationId}-${parameter.name}`;
    const input = control(parameter, id);
    inputs.set(parameter.name, input);
    const hint = `${typeOf(parameter.schema)}${parameter.required ? `, ${words.required}` : ""}`;
    return make(
      "div",
      { class: "field" },
      make("label", { for: id }, parameter.name),
      input,
      make("span", { class: "field-hint" }, hint),
    );
  });
  const bodyId = `${operation.operationId}-body`;
  const text = bodySchema ? JSON.stringify(example(document, bodySchema) ?? {}, null, 2) : "";
  const area = bodySchema ? make("textarea", { class: "input", id: bodyId, spellcheck: "false", value: text }) : null;
  const send = make("button", { class: "button button-primary", type: "submit" }, words.tryIt);
  const outcome = make("div", { role: "status", "aria-live": "polite" });
  const view = make(
    "form",
    { class: "docs-form" },
    ...fields,
    area &&
      make(
        "div",
        { class: "field" },
        make("label", { for: bodyId }, `${words.body}: ${typeOf(bodySchema)}`),
        area,
        fieldsOf(document, bodySchema),
      ),
    make("div", {}, send),
    outcome,
  );
  view.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...inputs].map(([name, input]) => [name, input.value]));
    const target = address(path, parameters, values);
    if (method !== "get" && !window.confirm(words.changes(`${method.toUpperCase()} ${target}`))) return;
    send.disabled = true;
    fill(outcome, words.sending);
    fill(outcome, ...(await sent(method, target, area?.value)));
    send.disabled = false;
  });
  return view;
}

/** @param {any} parameter @param {string} id */
function control(parameter, id) {
  const words = parameter.schema?.enum;
  if (!words) return make("input", { class: "input", id, required: parameter.required, autocomplete: "off" });
  const none = parameter.required ? [] : [make("option", { value: "" }, "")];
  return make(
    "select",
    { class: "input", id },
    ...none,
    ...words.map((/** @type {string} */ word) => make("option", { value: word }, word)),
  );
}

/** @param {Record<string, any>} document @param {Record<string, any>} schema */
function fieldsOf(document, schema) {
  const own = resolved(document, schema);
  const lines = Object.entries(own.properties ?? {}).map(([name, field]) => {
    const required = own.required?.includes(name) ? `, ${words.required}` : "";
    return `${name}: ${typeOf(field)}${required}`;
  });
  return lines.length ? make("span", { class: "field-hint" }, lines.join("; ")) : null;
}

/**
 * Sends a request, and returns what to show of the answer.
 * @param {string} method
 * @param {string} target
 * @param {string} [body]
 */
async function sent(method, target, body) {
  if (body !== undefined) {
    try {
      JSON.parse(body);
    } catch {
      return [words.notJson];
    }
  }
  /** @type {Record<string, string>} */
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const began = performance.now();
  try {
    const response = await fetch(at(target), {
      method: method.toUpperCase(),
      headers,
      body,
      signal: AbortSignal.timeout(60_000),
    });
    const took = Math.round(performance.now() - began);
    const type = response.headers.get("Content-Type") ?? "";
    const head = make("p", {}, words.answer(response.status, took));
    if (!/json|text\/plain|markdown/.test(type)) return [head, type ? make("p", {}, words.download) : null];
    return [head, make("pre", { class: "docs-code", tabindex: "0" }, pretty(await response.text()).slice(0, MOST))];
  } catch {
    return [words.unreachable];
  }
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @param {Record<string, any>} operation */
function answers(operation) {
  const rows = Object.entries(/** @type {Record<string, any>} */ (operation.responses ?? {})).map(
    ([status, response]) => {
      const [media, content] = Object.entries(response.content ?? {})[0] ?? ["", undefined];
      const type =
        media === "application/json" || media === "application/problem+json"
          ? typeOf(/** @type {any} */ (content).schema)
          : media;
      return make("tr", {}, make("td", {}, status), make("td", {}, response.description), make("td", {}, type));
    },
  );
  const { status, meaning, type } = words.columns;
  const head = make("tr", {}, ...[status, meaning, type].map((title) => make("th", { scope: "col" }, title)));
  return make(
    "section",
    {},
    make("h3", {}, words.answers),
    make("table", { class: "docs-table" }, make("thead", {}, head), make("tbody", {}, ...rows)),
  );
}
