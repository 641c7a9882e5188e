// One top-level block of a reply: server-rendered Markdown, adapted to the page (code with label and copy button, scrolling
// tables).

import { copyButton } from "../shared/copy.js";
import { make } from "../shared/dom.js";
import { setRenderedHtml } from "../shared/html.js";
import { texts } from "../texts.js";
import { dressAlerts } from "./alerts.js";
import { offerPreview } from "./artefact.js";
import { diagramButton } from "./diagram.js";
import { dressFootnotes } from "./footnotes.js";
import { highlight, languageName } from "./highlight.js";
import { setCode } from "./long-code.js";
import { dressMath } from "./math.js";

/** @typedef {{html: string, isFinal: boolean}} Shown */

/** @type {WeakMap<HTMLElement, Shown>} */
const shown = new WeakMap();
/** Whether a fold was drawn open. @type {WeakMap<HTMLDetailsElement, boolean>} */
const drawnOpen = new WeakMap();

/** @returns {HTMLElement} */
export const newBlock = () => make("div", { class: "prose prose-block" });

/**
 * Shows the HTML of a block. A block that is still growing is not highlighted yet.
 * @param {HTMLElement} block
 * @param {string} html
 * @param {boolean} isFinal
 */
export function showBlock(block, html, isFinal) {
  const before = shown.get(block);
  if (before?.html !== html && !growCode(block, html) && !growParagraph(block, html)) {
    const toggled = [...block.querySelectorAll("details")].map((fold) => (fold.open === drawnOpen.get(fold) ? null : fold.open));
    setRenderedHtml(block, html);
    dress(block);
    // What the reader folded or unfolded stays so while the block grows.
    block.querySelectorAll("details").forEach((fold, index) => {
      drawnOpen.set(fold, fold.open);
      fold.open = toggled[index] ?? fold.open;
    });
  }
  const wasColoured = before?.html === html && before.isFinal;
  if (isFinal && !wasColoured) finish(block);
  shown.set(block, { html, isFinal });
}

/**
 * Growing code keeps its elements, which preserves the selection and the scroll position.
 * @param {HTMLElement} block
 * @param {string} html
 */
function growCode(block, html) {
  const code = block.querySelector(":scope > .code code");
  if (!code || !html.startsWith("<pre")) return false;
  const next = document.createElement("div");
  setRenderedHtml(next, html);
  const fresh = next.querySelector(":scope > pre > code");
  if (!fresh || next.childElementCount !== 1 || fresh.className !== code.className) return false;
  setCode(code, fresh.textContent ?? "");
  return true;
}

/** What is changed by dressing, so that it does not look like what the server sends. */
const dressed = "code.math, .formula, .footnote-reference, input";

/**
 * A growing paragraph keeps what has not changed, which preserves the selection, and grows at its end. To draw thousands of words
 * anew with each piece would make the page slow.
 * @param {HTMLElement} block
 * @param {string} html
 */
function growParagraph(block, html) {
  const paragraph = block.firstElementChild;
  if (block.childElementCount !== 1 || paragraph?.tagName !== "P" || !html.startsWith("<p")) return false;
  const next = document.createElement("div");
  setRenderedHtml(next, html);
  const fresh = next.firstElementChild;
  if (!fresh || next.childElementCount !== 1 || fresh.tagName !== "P") return false;
  if (fresh.getAttribute("dir") !== paragraph.getAttribute("dir")) return false;
  if (paragraph.querySelector(dressed) || fresh.querySelector(dressed)) return false;
  const [old, wanted] = [[...paragraph.childNodes], [...fresh.childNodes]];
  let same = 0;
  while (same < old.length && same < wanted.length && old[same].isEqualNode(wanted[same])) same += 1;
  const [tail, longer] = [old[same], wanted[same]];
  if (tail instanceof Text && longer instanceof Text && longer.data.startsWith(tail.data)) {
    tail.appendData(longer.data.slice(tail.data.length));
    same += 1;
  }
  for (const gone of old.slice(same)) gone.remove();
  paragraph.append(...wanted.slice(same));
  return true;
}

/** @param {HTMLElement} block */
function dress(block) {
  for (const pre of block.querySelectorAll("pre")) dressCode(pre);
  for (const table of block.querySelectorAll("table")) {
    const box = make("div", { class: "table-box", role: "group", tabindex: "0", "aria-label": texts.code.table });
    table.replaceWith(box);
    box.append(table);
    for (const cell of table.querySelectorAll("th:empty")) cell.replaceWith(make("td"));
  }
  dressAlerts(block);
  dressFootnotes(block);
  dressMath(block);
  for (const box of block.querySelectorAll("input")) {
    const label = (box.parentElement?.textContent ?? "").trim();
    box.setAttribute("aria-label", label || texts.code.task);
  }
}

/** @param {HTMLPreElement} pre */
function dressCode(pre) {
  const code = pre.querySelector("code");
  const language = languageOf(code);
  // What has a preview is called by its own name, and not by that of the grammar which colours it.
  const name = (/^(html|svg|xhtml)$/i.test(language) ? language : languageName(language)) || texts.code.plain;
  const figure = make(
    "figure",
    { class: "code", data: { language } },
    make(
      "figcaption",
      {},
      make("span", {}, name),
      copyButton(texts.code.copy, () => pre.textContent ?? ""),
    ),
  );
  if (code) setCode(code, code.textContent ?? "");
  pre.replaceWith(figure);
  pre.tabIndex = 0;
  pre.setAttribute("role", "group");
  pre.setAttribute("aria-label", texts.code.region(name));
  figure.append(pre);
  if (name === "mermaid") figure.querySelector("figcaption > span")?.after(diagramButton(figure, pre));
}

/** @param {Element | null} code */
function languageOf(code) {
  const name = [...(code?.classList ?? [])].find((className) => className.startsWith("language-"));
  return name?.slice("language-".length) ?? "";
}

/** Does what is done with code that does not grow any more. @param {HTMLElement} block */
function finish(block) {
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (block.querySelectorAll(".code"))) offerPreview(figure);
  for (const code of /** @type {NodeListOf<HTMLElement>} */ (block.querySelectorAll(".code code"))) {
    void highlight(code, languageOf(code));
  }
}

/**
 * Renumbers a reply's headings without gaps, below the page's own two levels.
 * @param {Element} reply
 */
export function levelHeadings(reply) {
  /** @type {number[]} The depths of the headings around the next one, each one level deeper. */
  const around = [];
  for (const heading of reply.querySelectorAll(".prose :is(h1, h2, h3, h4, h5, h6)")) {
    const depth = Number(/\bdepth-([1-6])\b/.exec(heading.className)?.[1] ?? heading.tagName[1]);
    while (around.length > 0 && around[around.length - 1] >= depth) around.pop();
    around.push(depth);
    heading.setAttribute("aria-level", String(around.length + 2));
  }
}
