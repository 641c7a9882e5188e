// The lines of an SOP's text as the editor shows them: what in a line is what, and the headings. No page.

/** @typedef {{text: string, kind: string}} Piece */

/** A line at which code begins or ends. */
const fence = /^\s*(```|~~~)/;
const inLine = /(`[^`]+`)|(\*\*[^*]+\*\*)|\b((?:MUST|SHOULD|REQUIRED|RECOMMENDED|SHALL)(?: NOT)?|MAY|OPTIONAL)\b/g;

/**
 * The pieces of each line, each with what it is; their texts are the line.
 * @param {string[]} lines @returns {Piece[][]}
 */
export function paintedLines(lines) {
  let isCode = false;
  return lines.map((line) => {
    if (fence.test(line)) {
      isCode = !isCode;
      return [{ text: line, kind: "fence" }];
    }
    return isCode ? [{ text: line, kind: "code" }] : piecesOf(line);
  });
}

/** @param {string} line @returns {Piece[]} */
function piecesOf(line) {
  if (/^#{1,6}\s/.test(line)) return [{ text: line, kind: "heading" }];
  const sign = /^\s*(?:[-*+]|\d+[.)])\s/.exec(line)?.[0] ?? "";
  const pieces = sign ? [{ text: sign, kind: "sign" }] : [];
  const rest = line.slice(sign.length);
  let at = 0;
  for (const found of rest.matchAll(inLine)) {
    if (found.index > at) pieces.push({ text: rest.slice(at, found.index), kind: "" });
    pieces.push({ text: found[0], kind: found[1] ? "code" : found[2] ? "strong" : "word" });
    at = found.index + found[0].length;
  }
  if (at < rest.length || pieces.length === 0) pieces.push({ text: rest.slice(at), kind: "" });
  return pieces;
}

/**
 * The headings, with their lines counted from 1; what stands in code is none.
 * @param {string[]} lines @returns {{line: number, level: number, title: string}[]}
 */
export function headingsOf(lines) {
  let isCode = false;
  const found = [];
  for (const [index, line] of lines.entries()) {
    if (fence.test(line)) isCode = !isCode;
    const match = isCode ? null : /^(#{1,6})\s+(.+?)\s*#*$/.exec(line);
    if (match) found.push({ line: index + 1, level: match[1].length, title: match[2] });
  }
  return found;
}

/**
 * Where two lists of lines differ: how many are the same at the beginning and at the end.
 * @param {string[]} before @param {string[]} after
 */
export function sameEnds(before, after) {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { head, tail };
}
