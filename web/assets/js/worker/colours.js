// Highlights code off the main thread: a grammar may never finish on hostile text, and then only this worker is terminated. It
// receives a language and a text, reports when it begins, and returns the pieces with their scopes; null if the text needs no
// highlighting.

/** @import { Piece as Found } from "../../vendor/highlight/core.min.js" */
import library from "../../vendor/highlight/core.min.js";

/** The maximum number of elements; more would cost the page more than highlighting is worth. */
const mostPieces = 20000;
/** @type {Set<string>} */
const loaded = new Set();

/**
 * A text, or a scope with its content.
 * @typedef {string | Scoped} Piece
 * @typedef {[string, ...Piece[]]} Scoped
 */

addEventListener("message", async ({ data: { id, language, text } }) => {
  /** @type {Piece[] | null} */
  let pieces = null;
  try {
    if (!loaded.has(language)) {
      const grammar = await import(`../../vendor/highlight/languages/${language}.min.js`);
      library.registerLanguage(language, grammar.default);
      loaded.add(language);
    }
    postMessage({ id, hasBegun: true });
    pieces = piecesOf(library.highlight(text, { language, ignoreIllegals: true })._emitter?.rootNode);
  } catch {
    // It stays plain.
  }
  postMessage({ id, pieces });
});

/** @param {Found | undefined} root @returns {Piece[] | null} */
function piecesOf(root) {
  let count = 0;
  /** @param {Found} piece @returns {Piece} */
  const read = (piece) => {
    count += 1;
    if (count > mostPieces) throw new RangeError("too many pieces");
    return typeof piece === "string" ? piece : [piece.scope ?? "", ...piece.children.map(read)];
  };
  return root && typeof root !== "string" ? root.children.map(read) : null;
}
