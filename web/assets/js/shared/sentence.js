// A sentence of the server, in which `names` stand between backticks: they are shown as code, always as text.

import { make } from "./dom.js";
import { visible } from "./visible.js";

/** @param {string} text @returns {{text: string, isCode: boolean}[]} */
export function sentencePieces(text) {
  // Every second piece stood between backticks.
  return text.split(/`([^`\n]+)`/).map((piece, index) => ({ text: piece, isCode: index % 2 === 1 })).filter((piece) => piece.text);
}

/** @param {string} text @returns {(string | Node)[]} */
export const sentence = (text) => sentencePieces(text).flatMap(({ text: piece, isCode }) => (isCode ? [make("code", {}, ...visible(piece))] : visible(piece)));
