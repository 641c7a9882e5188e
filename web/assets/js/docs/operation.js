// One operation: its parameters and responses, and a form that sends a request.

import { at } from "../shared/base.js";
import { copyButton } from "../shared/copy.js";
import { make, fill } from "../shared/dom.js";
import { quoted } from "../shared/shell-quote.js";
import { docsWords as words } from "../texts/docs.js";
import { address, example, resolved, typeOf } from "./schema.js";

/** @import { Document, Entry, Operation, Parameter, Schema } from "./schema.js" */

/** The maximum number of characters shown of an answer. */
const MOST = 200_000;

/**
 * @param {Document} document
 * @param {Entry} entry
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
 * @param {Document} document
 * @param {string} method
 * @param {string} path
 * @param {Operation} operation
 */
function form(document, method, path, operation) {
  const parameters = operation.parameters ?? [];
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
  const command = make("pre", { class: "docs-code", tabindex: "0", role: "group", "aria-label": words.curl });
  const headersOf = (/** @type {Record<string, string>} */ values) =>
    Object.fromEntries(
      parameters.filter((one) => one.in === "header" && values[one.name]).map((one) => [one.name, values[one.name]]),
    );
  const written = () => {
    const values = Object.fromEntries([...inputs].map(([name, input]) => [name, input.value]));
    // A place that is not filled in keeps its name.
    const target = address(path, parameters.filter((one) => one.in !== "path" || values[one.name]), values);
    const url = new URL(at("/"), location.href).href.replace(/\/$/, "") + target;
    return curlOf({ method, url, body: area?.value, isSigned: Boolean(operation.security), headers: headersOf(values) });
  };
  const show = () => (command.textContent = written());
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
    make(
      "div",
      { class: "docs-curl" },
      make("div", { class: "docs-curl-head" }, make("h3", {}, words.curl), copyButton(words.copyCurl, written)),
      command,
      Boolean(operation.security) && make("p", { class: "field-hint" }, words.tokenHint),
    ),
    make("div", {}, send),
    outcome,
  );
  view.addEventListener("input", show);
  show();
  view.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...inputs].map(([name, input]) => [name, input.value]));
    const target = address(path, parameters, values);
    if (method !== "get" && !window.confirm(words.changes(`${method.toUpperCase()} ${target}`))) return;
    send.disabled = true;
    fill(outcome, words.sending);
    fill(outcome, ...(await sent(method, target, headersOf(values), area?.value)));
    send.disabled = false;
  });
  return view;
}

/**
 * The same request as a command for a terminal.
 * @param {{method: string, url: string, body?: string, isSigned: boolean, headers: Record<string, string>}} request
 */
export function curlOf({ method, url, body, isSigned, headers }) {
  const lines = [`curl${method === "get" ? "" : ` -X ${method.toUpperCase()}`} ${quoted(url)}`];
  if (isSigned) lines.push('-H "Authorization: Bearer $AETHON_TOKEN"');
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${quoted(body)}`);
  return lines.join(" \\\n  ");
}

/** @param {Parameter} parameter @param {string} id */
function control(parameter, id) {
  const words = parameter.schema?.enum;
  if (!words) return make("input", { class: "input", id, required: parameter.required, autocomplete: "off" });
  const none = parameter.required ? [] : [make("option", { value: "" }, "")];
  return make(
    "select",
    { class: "input", id },
    ...none,
    ...words.map((word) => make("option", { value: word }, word)),
  );
}

/** @param {Document} document @param {Schema | undefined} schema */
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
 * @param {Record<string, string>} more headers
 * @param {string} [body]
 */
async function sent(method, target, more, body) {
  if (body !== undefined) {
    try {
      JSON.parse(body);
    } catch {
      return [words.notJson];
    }
  }
  /** @type {Record<string, string>} */
  const headers = body === undefined ? more : { ...more, "Content-Type": "application/json" };
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

/** @param {Operation} operation */
function answers(operation) {
  const rows = Object.entries(operation.responses ?? {}).map(
    ([status, response]) => {
      const [media, content] = Object.entries(response.content ?? {})[0] ?? ["", undefined];
      const type =
        media === "application/json" || media === "application/problem+json"
          ? typeOf(content?.schema)
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
