// Highlights code. A worker tokenises it with a time limit, so that no text can freeze the page; its result becomes elements
// here, so that no markup passes through a string.

import { BoundedWorker } from "./bounded-worker.js";

const grammars = new Set(
  (
    "bash c cpp csharp css diff dockerfile go graphql ini java javascript json kotlin lua makefile markdown nginx nix perl " +
    "php powershell python r ruby rust scss shell sql swift typescript xml yaml"
  ).split(" "),
);
/** @type {Record<string, string>} */
const aliases = {
  sh: "bash",
  zsh: "bash",
  console: "shell",
  "c++": "cpp",
  cc: "cpp",
  h: "c",
  cs: "csharp",
  docker: "dockerfile",
  golang: "go",
  gql: "graphql",
  toml: "ini",
  js: "javascript",
  mjs: "javascript",
  jsx: "javascript",
  jsonc: "json",
  kt: "kotlin",
  make: "makefile",
  md: "markdown",
  pl: "perl",
  ps1: "powershell",
  py: "python",
  rb: "ruby",
  rs: "rust",
  patch: "diff",
  ts: "typescript",
  tsx: "typescript",
  html: "xml",
  svg: "xml",
  yml: "yaml",
};
const limit = 60000;
const longestLine = 10000;
const worker = new BoundedWorker(
  () => new Worker(new URL("../worker/colours.js", import.meta.url), { type: "module" }),
);

/** The usual name of the language. @param {string} label */
export function languageName(label) {
  return aliases[label.toLowerCase()] ?? label.toLowerCase();
}

/** Whether code is worth highlighting. @param {string} language @param {string} text */
export const isColourable = (language, text) =>
  grammars.has(language) && text.length < limit && text.split("\n").every((line) => line.length < longestLine);

/**
 * Highlights a code element, if its language is known and it is not enormous.
 * @param {HTMLElement} code
 * @param {string} label
 */
export async function highlight(code, label) {
  const language = languageName(label);
  const text = code.textContent ?? "";
  if (!isColourable(language, text)) return;
  const pieces = await worker.ask({ language, text });
  if (Array.isArray(pieces) && code.isConnected && code.textContent === text)
    code.replaceChildren(...pieces.map(toNode));
}

/** @import { Piece } from "../worker/colours.js" */

/** @param {Piece} piece @returns {Node} */
function toNode(piece) {
  if (typeof piece === "string") return document.createTextNode(piece);
  const [scope, ...children] = piece;
  const span = document.createElement("span");
  if (scope) span.className = `hl-${scope.split(".")[0].replace(/[^\w-]/g, "")}`;
  span.append(...children.map(toNode));
  return span;
}
