// The language of the page. English is the source: every catalogue in `texts.js` and `texts/` passes through `translated`, which puts
// the words of another language in the place of the English ones, and leaves the English where that has none. `early/language.js`
// has chosen the language; its words are one file for each page (`texts/LANGUAGE/page-PAGE.js`), which a page in English never loads.
//
// The modules of the page wait for that file, so nothing is drawn in English first. If it cannot be loaded, the page is English.

/** The words of a language by the name of the catalogue. @typedef {Record<string, unknown>} Words */

const root = globalThis.document?.documentElement;
const words = await load(root?.lang ?? "en", root?.dataset.texts);

/** What the page speaks: the words of its texts, and the order of its dates and numbers. */
export const language = words && root ? root.lang : "en";

/** The reader's own kind of that language where the browser names it, such as `de-AT`. */
export const locale = (globalThis.navigator?.languages ?? []).find((tag) => tag.split("-")[0] === language) ?? language;

/**
 * The texts of a catalogue in the language of the page.
 * @template [T=unknown]
 * @param {string} name the name of the catalogue's file; with a second catalogue in it, followed by a point and its name
 * @param {T} english
 * @returns {T}
 */
export function translated(name, english) {
  return words ? /** @type {T} */ (merged(english, words[name])) : english;
}

/** @param {string} wanted @param {string} [page] @returns {Promise<Words | null>} */
async function load(wanted, page) {
  if (wanted === "en" || !page) return null;
  try {
    return (await import(new URL(`../texts/${wanted}/page-${page}.js`, import.meta.url).href)).words;
  } catch {
    if (root) root.lang = "en";
    return null;
  }
}

/** @param {unknown} english @param {unknown} other @returns {unknown} */
function merged(english, other) {
  if (other === undefined) return english;
  if (typeof english !== "object" || english === null || Array.isArray(english)) return other;
  const words = /** @type {Words} */ (other);
  return Object.fromEntries(Object.entries(english).map(([key, text]) => [key, merged(text, words[key])]));
}
