// What would run, as an approval card shows it: what matters most in one block, the other arguments beside their names, and nothing
// twice. Everything as the tool gets it stands in the fold of the card.

import { texts } from "../texts.js";
import { asking } from "../texts/asking.js";
import { make } from "./dom.js";
import { asChange, asText, changeSheet, sheet } from "./sheet.js";
import { visible } from "./visible.js";

/** The argument that says what a call does, by tool. */
const mains = /** @type {Record<string, string>} */ ({
  shell: "command",
  file_read: "path",
  file_list: "path",
  file_search: "pattern",
  file_write: "path",
  file_edit: "path",
  web_fetch: "url",
  web_search: "query",
  open: "target",
  send_message: "text",
  notify: "text",
  clipboard_write: "text",
});

/** The longest value that stands beside its name. */
const SHORT = 60;

/**
 * @param {{tool: string, input: unknown, preview?: string}} asked
 * @returns {{elements: Node[], isWhole: boolean}} `isWhole`: whether every argument is shown as it is
 */
export function askedCall({ tool, input, preview }) {
  const isTable = typeof input === "object" && input !== null && !Array.isArray(input);
  /** @type {[string, unknown][]} */
  const entries = isTable ? Object.entries(/** @type {object} */ (input)) : [["", input]];
  if (entries.length === 0) return { elements: [make("p", { class: "field-hint" }, texts.approval.noInput)], isWhole: true };
  const change = asChange(input);
  const diff = preview || change;
  // The difference says what these would do.
  const isInDiff = (/** @type {string} */ name) =>
    Boolean(diff) && (name === "old" || name === "new" || (Boolean(preview) && name === "content"));
  const main = Object.hasOwn(mains, tool) && !diff ? entries.find(([name]) => name === mains[tool]) : undefined;
  const others = entries.filter((entry) => entry !== main && !isInDiff(entry[0]));
  const elements = /** @type {Node[]} */ ([]);
  if (main) elements.push(sheet(main[1], main[0]));
  if (others.length > 0) elements.push(argumentList(others));
  if (diff) elements.push(changeSheet(diff, preview ? texts.approval.preview : texts.tool.change));
  return { elements, isWhole: !entries.some(([name]) => isInDiff(name)) };
}

/** Each argument in full beside its name, or below it if it is long. @param {[string, unknown][]} entries */
function argumentList(entries) {
  const list = make("dl", {});
  for (const [name, value] of entries) {
    const text = asText(value);
    const isShort = text.length <= SHORT && !text.includes("\n");
    list.append(
      make(
        "div",
        { class: isShort ? "approval-short" : "" },
        make("dt", { class: "mono" }, ...visible(name)),
        make("dd", {}, sheet(value, name || texts.tool.input)),
      ),
    );
  }
  return list;
}

/** Every argument in full. @param {unknown} input */
export const wholeInput = (input) => sheet(input, asking.all);

/** The question of a card, which is shorter for a tool whose call says for itself what it does. @param {string} tool */
export const questionOf = (tool) =>
  asking.question(tool, Object.hasOwn(asking.purposes, tool) ? asking.purposes[tool] : "");
