// Marks words in a message without changing it, by the browser's highlights. Where it has none, the message is found all the same.

const name = "found-words";
/** As many as a message may have marked. */
const most = 500;

/** Chinese, Japanese and Korean characters, each of which is a word by itself. */
const single = String.raw`\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u{20000}-\u{3ffff}`;
const words = new RegExp(String.raw`[${single}]|(?:(?![${single}])[\p{Alphabetic}\p{N}\p{M}])+`, "gu");

export function clearMarks() {
  globalThis.CSS?.highlights?.delete(name);
}

/**
 * Marks the words that a search for these would find.
 * @param {Element | null} root @param {string} query
 * @returns {Range | undefined} the first place
 */
export function markWords(root, query) {
  clearMarks();
  const wanted = wordsOf(query).map(({ text }) => text);
  if (!root || wanted.length === 0) return undefined;
  const ranges = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && ranges.length < most) {
    const node = walker.currentNode;
    for (const [from, to] of placesOf(node.textContent ?? "", wanted)) {
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      ranges.push(range);
    }
  }
  if (ranges.length > 0 && globalThis.CSS?.highlights) CSS.highlights.set(name, new Highlight(...ranges));
  return ranges[0];
}

/**
 * Where the words stand in a text that begin with one of these, in order.
 * @param {string} text @param {string[]} wanted without accents, in lower case
 * @returns {[number, number][]}
 */
export const placesOf = (text, wanted) =>
  wordsOf(text).flatMap(({ text: word, from, to }) => (wanted.some((one) => word.startsWith(one)) ? [[from, to]] : []));

/**
 * The words of a text as the search of the server takes them: runs of letters and digits, without accents and in lower case.
 * @param {string} text
 * @returns {{text: string, from: number, to: number}[]}
 */
export const wordsOf = (text) =>
  [...text.matchAll(words)]
    .map(({ 0: word, index }) => ({ text: bare(word), from: index, to: index + word.length }))
    .filter(({ text: word }) => word !== "");

/** @param {string} word */
const bare = (word) => word.toLowerCase().normalize("NFD").replaceAll(/[\u0300-\u036f]/g, "").normalize("NFC");
