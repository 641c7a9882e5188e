// Marks words in a message without changing it, by the browser's highlights. Where it has none, the message is found all the same.

const name = "found-words";
/** As many as a message may have marked. */
const most = 500;

export function clearMarks() {
  globalThis.CSS?.highlights?.delete(name);
}

/**
 * Marks each place of the words.
 * @param {Element | null} root @param {string[]} words
 * @returns {Range | undefined} the first place
 */
export function markWords(root, words) {
  clearMarks();
  const wanted = [...new Set(words.map((word) => word.toLowerCase()).filter(Boolean))];
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
 * Where the words are in a text, in order.
 * @param {string} text @param {string[]} words in lower case
 * @returns {[number, number][]}
 */
export function placesOf(text, words) {
  const lower = text.toLowerCase();
  // Some letters take more places in lower case; then the places would be wrong.
  if (lower.length !== text.length) return [];
  /** @type {[number, number][]} */
  const places = [];
  for (const word of words)
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) places.push([at, at + word.length]);
  return places.sort(([one], [other]) => one - other);
}
