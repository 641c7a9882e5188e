// A field for editing each argument of a tool call: text as it is, everything else as JSON.

import { texts } from "../texts.js";
import { make } from "./dom.js";
import { visibleText } from "./visible.js";

/**
 * @param {unknown} input
 * @returns {{elements: HTMLElement[], read: () => {input: unknown, problem: string}, focus: () => void, typed: () => {name:
 *   string, text: string}[], boxes: Record<string, HTMLTextAreaElement>}}
 *   `typed`: the edited texts, by the names of the arguments
 */
export function argumentFields(input) {
  const entries = Object.entries(input ?? {});
  const fields = entries.map(([name, value]) => ({ name, isText: typeof value === "string", box: box(value) }));
  const before = fields.map(({ box: field }) => field.value);
  const elements = fields.map(({ name, box }) =>
    make("label", { class: "field" }, make("span", { class: "mono" }, visibleText(name)), box),
  );
  const read = () => {
    /** @type {Record<string, unknown>} */
    const changed = {};
    for (const { name, isText, box } of fields) {
      if (isText) {
        changed[name] = box.value;
        continue;
      }
      try {
        changed[name] = JSON.parse(box.value);
      } catch {
        return { input: null, problem: texts.approval.noJson(name) };
      }
    }
    return { input: changed, problem: "" };
  };
  const typed = () =>
    fields
      .filter(({ box: field }, index) => field.value !== before[index])
      .map(({ name, box: field }) => ({ name: visibleText(name), text: field.value }));
  const boxes = Object.fromEntries(fields.map(({ name, box: field }) => [name, field]));
  return { elements, boxes, read, focus: () => fields[0]?.box.focus(), typed };
}

/** @param {unknown} value */
function box(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const rows = Math.min(12, text.split("\n").length + 1);
  return make("textarea", { class: "mono", rows, spellcheck: "false", value: text });
}
