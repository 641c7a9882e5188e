// Formats a sentence from the server, in which `names` in backticks are shown as code, but never as markup.

import { make } from "./dom.js";
import { visible } from "./visible.js";

/** @param {string} text @returns {{text: string, isCode: boolean}[]} */
export function sentencePieces(text) {
  // Every second piece was in backticks.
  return text
    .split(/`([^`\n]+)`/)
    .map((piece, index) => ({ text: piece, isCode: index % 2 === 1 }))
    .filter((piece) => piece.text);
}

/** @param {string} text @returns {(string | Node)[]} */
export const sentence = (text) =>
  sentencePieces(text).flatMap(({ text: piece, isCode }) =>
    isCode ? [make("code", {}, ...visible(piece))] : visible(piece),
  );
