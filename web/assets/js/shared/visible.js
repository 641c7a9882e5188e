// Makes invisible characters visible. Text from elsewhere (a command, a title, a name, a log line) may contain characters that
// are invisible or reverse the text; only this module finds and marks them, for every view.

import { make } from "./dom.js";

// Control characters except tab and newline, soft hyphen, zero-width and bidirectional marks, byte order mark, tag characters;
// the joiners inside an emoji are left alone.
const odd =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\u{e0000}-\u{e0fff}]|(?<!\p{Emoji})\ufe0f|(?<![\p{Extended_Pictographic}\ufe0f\u{1f3fb}-\u{1f3ff}])\u200d/u;

const plain = /^[\t\n\x20-\x7e]+$/;

/**
 * Splits the text into pieces: readable text, and a name for each invisible character.
 * @param {string} text
 * @returns {{text: string, isOdd: boolean}[]}
 */
export function visiblePieces(text) {
  // Most texts are plain, and compiling the expression below takes a phone milliseconds.
  if (plain.test(text)) return [{ text, isOdd: false }];
  const pieces = [];
  let from = 0;
  // A new expression for each text, because a global one remembers where its last search ended.
  for (const { 0: found, index } of text.matchAll(new RegExp(odd, "gu"))) {
    const code = found.codePointAt(0) ?? 0;
    if (index > from) pieces.push({ text: text.slice(from, index), isOdd: false });
    pieces.push({ text: `U+${code.toString(16).toUpperCase().padStart(4, "0")}`, isOdd: true });
    from = index + found.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isOdd: false });
  return pieces;
}

/** The same, as children of an element. @param {string} text @returns {(string | Node)[]} */
export const visible = (text) =>
  visiblePieces(text).map((piece) => (piece.isOdd ? make("span", { class: "odd-character" }, piece.text) : piece.text));

/** The same, as plain text, for places such as the window's title. @param {string} text */
export const visibleText = (text) =>
  visiblePieces(text)
    .map((piece) => piece.text)
    .join("");

/** Whether a text contains invisible characters. @param {string} text */
export const isOdd = (text) => odd.test(text);
