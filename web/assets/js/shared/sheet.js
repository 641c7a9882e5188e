// Shows the input and output of a tool, exactly and legibly. Invisible characters are marked; file edits are shown as diffs.

import { make } from "./dom.js";
import { texts } from "../texts.js";
import { isOdd, visible, visibleText } from "./visible.js";

/** A value as text: strings as they are, everything else as JSON. @param {unknown} value */
export function asText(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** Whether a value, as shown, contains invisible characters in a name or value. @param {unknown} value @returns {boolean} */
export function hasOddCharacters(value) {
  if (typeof value === "object" && value !== null)
    return Object.entries(value).some(([name, inner]) => isOdd(name) || hasOddCharacters(inner));
  return typeof value === "string" && isOdd(value);
}

/** @param {unknown} value @param {string} label @returns {HTMLElement} */
export function sheet(value, label) {
  const text = asText(value);
  const box = make("pre", { class: "sheet", tabindex: "0", role: "group", "aria-label": visibleText(label) });
  if (isDiff(text)) {
    box.classList.add("diff");
    for (const line of text.split("\n")) box.append(diffLine(line));
  } else {
    box.append(...visible(text));
  }
  return box;
}

/**
 * The requested edit of a file, as removed and added lines; null for other inputs.
 * @param {unknown} input
 */
export function asChange(input) {
  const edit = /** @type {{old?: unknown, new?: unknown} | null | undefined} */ (input);
  if (typeof edit?.old !== "string" || typeof edit.new !== "string") return null;
  const before = edit.old.split("\n");
  const after = edit.new.split("\n");
  const same = (/** @type {number} */ index) => before.at(index) === after.at(index);
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && same(head)) head += 1;
  let tail = 0;
  while (tail < shorter - head && same(-1 - tail)) tail += 1;
  const middle = (/** @type {string} */ sign, /** @type {string[]} */ lines) =>
    lines.slice(head, lines.length - tail).map((line) => sign + line);
  const around = (/** @type {string[]} */ lines) => lines.map((line) => ` ${line}`);
  return [
    ...around(before.slice(0, head)),
    ...middle("-", before),
    ...middle("+", after),
    ...around(tail ? before.slice(-tail) : []),
  ].join("\n");
}

/** The most informative arguments of a call, in order. Keep in sync with the list of the terminal. */
const telling = [
  "command",
  "path",
  "url",
  "query",
  "pattern",
  "glob",
  "expression",
  "sop_name",
  "prompt",
  "text",
  "content",
  "thought",
  "name",
  "title",
];

/** The short form of an input: its most informative argument, else its first. @param {unknown} input */
export function brief(input) {
  if (typeof input === "string") return input;
  const isShort = (/** @type {unknown} */ value) =>
    (typeof value === "string" && value.trim() !== "") || typeof value === "number";
  const all = /** @type {Record<string, unknown>} */ (input ?? {});
  const name = telling.find((candidate) => isShort(all[candidate]));
  const value = name ? all[name] : Object.values(all).find(isShort);
  return value === undefined ? "" : String(value).replace(/\s+/g, " ").trim().slice(0, 160);
}

/** @param {string} text */
function isDiff(text) {
  return /^(--- |diff --git |@@ )/m.test(text) && /^[+-]/m.test(text);
}

/** Shows a change from `asChange` as a diff. @param {string} change @param {string} label */
export function changeSheet(change, label) {
  const box = make("pre", { class: "sheet diff", tabindex: "0", role: "group", "aria-label": visibleText(label) });
  const lines = change.split("\n");
  // Such lines are file names only at the very top; further down they are changes that look like them.
  const hasNames = /^--- /.test(lines[0] ?? "") && /^\+\+\+ /.test(lines[1] ?? "") && /^@@ /.test(lines[2] ?? "");
  box.append(...lines.map((line, index) => diffLine(line, hasNames && index < 2)));
  return box;
}

/** @param {string} line @param {boolean} isName */
function diffLine(line, isName = false) {
  const change = isName ? undefined : line[0] === "+" ? "add" : line[0] === "-" ? "del" : undefined;
  return make("span", { class: change }, ...visible(line || " "));
}

/** How many lines of a running tool's output are shown. */
const LIVE_LINES = 6;

/** The last lines of a tool's output so far. @param {unknown} output */
export function lastLines(output) {
  const lines = typeof output === "string" ? output.replace(/\n+$/, "").split("\n") : [];
  return lines.slice(-LIVE_LINES).join("\n");
}

export const noOutput = () => make("p", {}, texts.tool.noOutput);
