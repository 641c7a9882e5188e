// Converts part of a page to announcements: block elements are separated by a full stop, and long text is split into whole
// sentences. Pure.

const blocks = new Set("BLOCKQUOTE DD DIV DT FIGCAPTION H1 H2 H3 H4 H5 H6 LI OL P PRE TD TH TR UL BR".split(" "));
const longest = 600;

/** @typedef {{nodeName: string, textContent: string | null, childNodes: Iterable<Spoken>}} Spoken the properties used of a node */

/** @param {Spoken} root @returns {string[]} the lines to announce in order */
export function spokenLines(root) {
  const pieces = [""];
  const walk = (/** @type {Spoken} */ node) => {
    if (node.nodeName === "#text") {
      pieces[pieces.length - 1] += node.textContent ?? "";
      return;
    }
    const isBlock = blocks.has(node.nodeName.toUpperCase());
    if (isBlock) pieces.push("");
    for (const child of node.childNodes) walk(child);
    if (isBlock) pieces.push("");
  };
  walk(root);
  const said = pieces.map((piece) => piece.replace(/\s+/g, " ").trim()).filter(Boolean);
  return inSentences(said.map((piece) => (/[.!?:;,…]$/.test(piece) ? piece : `${piece}.`)).join(" "));
}

/** Splits a text between sentences, or between words if a sentence is too long. @param {string} text @returns {string[]} */
export function inSentences(text) {
  const lines = [""];
  const sentences = text
    .split(/(?<=[.!?…])\s+/)
    .flatMap((sentence) => (sentence.length > longest ? sentence.split(/\s+/) : [sentence]));
  for (const sentence of sentences) {
    const last = lines[lines.length - 1];
    if (last && last.length + sentence.length >= longest) lines.push(sentence);
    else lines[lines.length - 1] = last ? `${last} ${sentence}` : sentence;
  }
  return lines.filter(Boolean);
}
