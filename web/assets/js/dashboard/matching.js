// Ranks entries by the search text: matches at the beginning of the text first, then of a word, then anywhere in the text.

/**
 * @template [T=unknown]
 * @param {T[]} entries @param {string} typed @param {(entry: T) => string} textOf
 * @returns {T[]}
 */
export function ranked(entries, typed, textOf) {
  const wanted = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return entries;
  const scored = entries.map((entry, index) => ({ entry, index, score: scoreOf(textOf(entry).toLowerCase(), wanted) }));
  return scored
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score || one.index - other.index)
    .map(({ entry }) => entry);
}

/** @param {string} text @param {string[]} wanted */
function scoreOf(text, wanted) {
  let score = 0;
  for (const word of wanted) {
    const here = text.startsWith(word)
      ? 4
      : new RegExp(`(^|[^a-z0-9])${escaped(word)}`).test(text)
        ? 3
        : text.includes(word)
          ? 2
          : isSubsequence(word, text)
            ? 1
            : 0;
    if (here === 0) return 0;
    score += here;
  }
  return score;
}

/** @param {string} word @param {string} text */
function isSubsequence(word, text) {
  if (word.length < 3) return false;
  let at = 0;
  for (const letter of text) if (letter === word[at]) at += 1;
  return at === word.length;
}

/** @param {string} text */
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
