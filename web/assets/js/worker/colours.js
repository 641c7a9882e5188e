// Colours code beside the page: what a grammar makes of hostile text may take for ever, and then only this worker is ended.
// It gets a language and a text, says when it begins, and answers the pieces under their scopes; null when there is no more
// to say about the text than that it is text.

import library from "../../vendor/highlight/core.min.js";

/** More elements than this would cost the page more than colours are worth. */
const mostPieces = 20000;
/** @type {Set<string>} */
const loaded = new Set();

/** @typedef {string | [string, ...any[]]} Piece a text, or a scope with what is in it */

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

/** @param {any} root @returns {Piece[] | null} */
function piecesOf(root) {
  let count = 0;
  const read = (/** @type {any} */ piece) => {
    count += 1;
    if (count > mostPieces) throw new RangeError("too many pieces");
    return typeof piece === "string" ? piece : [piece.scope ?? "", ...piece.children.map(read)];
  };
  return root ? root.children.map(read) : null;
}
