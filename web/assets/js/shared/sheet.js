// Shows what went into a tool and what came out: exactly, and legible. Invisible characters, which could hide what a
// command does, are marked; changes of files are shown as changes.

import { make } from "./dom.js";
import { texts } from "../texts.js";

// Controls but tab and newline, soft hyphen, zero-width and bidirectional marks, byte order mark, tag characters; the joiners inside an emoji
// are left alone.
const odd =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\u{e0000}-\u{e0fff}]|(?<!\p{Emoji})\ufe0f|(?<![\p{Extended_Pictographic}\ufe0f\u{1f3fb}-\u{1f3ff}])\u200d/gu;

/** A value as text: strings as they are, everything else as JSON. @param {any} value */
export function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}

/** Whether a text holds characters that do not show. @param {any} value */
export function hasOddCharacters(value) {
  odd.lastIndex = 0;
  return odd.test(asText(value));
}

/** Text in which every invisible character is visible. @param {string} text @returns {(string | Node)[]} */
export function visible(text) {
  /** @type {(string | Node)[]} */
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(odd)) {
    const code = match[0].codePointAt(0) ?? 0;
    pieces.push(text.slice(from, match.index), make("span", { class: "odd-character" }, `U+${code.toString(16).toUpperCase().padStart(4, "0")}`));
    from = match.index + match[0].length;
  }
  pieces.push(text.slice(from));
  return pieces;
}

/** @param {any} value @param {string} label @returns {HTMLElement} */
export function sheet(value, label) {
  const text = asText(value);
  const box = make("pre", { class: "sheet", tabindex: "0", role: "group", "aria-label": label });
  if (isDiff(text)) {
    box.classList.add("diff");
    for (const line of text.split("\n")) box.append(diffLine(line));
  } else {
    box.append(...visible(text));
  }
  return box;
}

/**
 * The change that an edit of a file asks for, as lines taken away and added; null for other inputs.
 * @param {any} input
 */
export function asChange(input) {
  if (typeof input?.old !== "string" || typeof input?.new !== "string") return null;
  const before = input.old.split("\n");
  const after = input.new.split("\n");
  const same = (/** @type {number} */ index) => before.at(index) === after.at(index);
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && same(head)) head += 1;
  let tail = 0;
  while (tail < shorter - head && same(-1 - tail)) tail += 1;
  const middle = (/** @type {string} */ sign, /** @type {string[]} */ lines) => lines.slice(head, lines.length - tail).map((line) => sign + line);
  const around = (/** @type {string[]} */ lines) => lines.map((line) => ` ${line}`);
  return [...around(before.slice(0, head)), ...middle("-", before), ...middle("+", after), ...around(tail ? before.slice(-tail) : [])].join("\n");
}

/** The shortest telling form of an input: its only or first text. @param {any} input */
export function brief(input) {
  if (typeof input === "string") return input;
  const values = Object.values(input ?? {});
  const first = values.find((value) => typeof value === "string" || typeof value === "number");
  return first === undefined ? "" : String(first).replace(/\s+/g, " ").slice(0, 160);
}

/** @param {string} text */
function isDiff(text) {
  return /^(--- |diff --git |@@ )/m.test(text) && /^[+-]/m.test(text);
}

/** A change made by `asChange` is shown as one. @param {string} change @param {string} label */
export function changeSheet(change, label) {
  const box = make("pre", { class: "sheet diff", tabindex: "0", role: "group", "aria-label": label });
  for (const line of change.split("\n")) box.append(diffLine(line));
  return box;
}

/** @param {string} line */
function diffLine(line) {
  const change = line[0] === "+" ? "add" : line[0] === "-" ? "del" : undefined;
  return make("span", { class: change }, ...visible(line || " "));
}

export const noOutput = () => make("p", {}, texts.tool.noOutput);
