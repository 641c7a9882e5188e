// Formulas of a reply. The server writes them as their source; KaTeX, which is loaded when the first one appears, replaces that by
// the formula and its MathML. What it cannot read stays as it was written.

import { make } from "../shared/dom.js";
import { readingWords as words } from "../texts/reading.js";

/** @typedef {{render: (tex: string, place: HTMLElement, options: object) => void}} Katex */

const folder = new URL("../../vendor/katex/", import.meta.url);
const source = "code.math";
const mostKept = 400;
const longest = 8192;

/** @type {Katex | null} */
let katex = null;
/** @type {Promise<void> | null} */
let loading = null;
/** @type {Map<string, HTMLElement>} Formulas that were drawn: a block that grows is drawn again and again. */
const drawn = new Map();

/** @param {Element} block */
export function dressMath(block) {
  const formulas = block.querySelectorAll(source);
  if (formulas.length === 0) return;
  if (katex) {
    formulas.forEach(draw);
    return;
  }
  loading ??= load();
  // What was added while it loaded is drawn as well.
  loading.then(() => document.querySelectorAll(`.prose ${source}`).forEach(draw)).catch(() => (loading = null));
}

async function load() {
  const sheet = make("link", { rel: "stylesheet", href: new URL("katex.min.css", folder).href });
  const isStyled = new Promise((done, failed) => {
    sheet.addEventListener("load", done);
    sheet.addEventListener("error", failed);
  });
  document.head.append(sheet);
  await Promise.all([import(new URL("katex.min.js", folder).href), isStyled]);
  katex = /** @type {{katex?: Katex}} */ (globalThis).katex ?? null;
}

/** @param {Element} code */
function draw(code) {
  if (!katex || code.hasAttribute("data-unread")) return;
  const tex = code.textContent ?? "";
  const isDisplay = code.classList.contains("math-display");
  const key = `${isDisplay} ${tex}`;
  const formula = drawn.get(key) ?? render(tex, isDisplay);
  if (!formula) {
    code.setAttribute("data-unread", "");
    code.setAttribute("title", words.unreadFormula);
    return;
  }
  if (drawn.size >= mostKept) drawn.clear();
  drawn.set(key, formula);
  const copy = /** @type {HTMLElement} */ (formula.cloneNode(true));
  code.replaceWith(copy);
  if (isDisplay) requestAnimationFrame(() => makeScrollable(copy));
}

/** @param {string} tex @param {boolean} isDisplay */
function render(tex, isDisplay) {
  if (tex.length > longest) return null;
  const place = make("span", { class: isDisplay ? "formula formula-display" : "formula" });
  try {
    katex?.render(tex, place, {
      displayMode: isDisplay,
      throwOnError: true,
      strict: "ignore",
      trust: false,
      maxSize: 20,
      maxExpand: 500,
    });
    return place;
  } catch {
    return null;
  }
}

/** A formula wider than the page scrolls in its own box. @param {HTMLElement} formula */
function makeScrollable(formula) {
  if (formula.scrollWidth <= formula.clientWidth) return;
  formula.tabIndex = 0;
  formula.setAttribute("role", "group");
  formula.setAttribute("aria-label", words.formula);
}
