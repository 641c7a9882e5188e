// Copies a reply as formatted text, for a mail or a document: plain HTML without the page's own marks, and its Markdown for those
// who take text only.

import { setRenderedHtml } from "../shared/html.js";

/**
 * @param {string[]} blocks the rendered blocks
 * @param {string} source their Markdown
 * @returns {Promise<boolean>} whether it worked
 */
export async function copyRich(blocks, source) {
  const html = portable(blocks);
  try {
    const kinds = { "text/html": html, "text/plain": source };
    const parts = Object.entries(kinds).map(([type, text]) => [type, new Blob([text], { type })]);
    await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(parts))]);
    return true;
  } catch {
    return copyByEvent(html, source);
  }
}

/** HTML that means the same elsewhere. @param {string[]} blocks */
export function portable(blocks) {
  const body = document.createElement("div");
  setRenderedHtml(body, blocks.join("\n"));
  for (const host of body.querySelectorAll(".host")) host.remove();
  for (const box of body.querySelectorAll("input")) box.replaceWith(box.hasAttribute("checked") ? "☑ " : "☐ ");
  for (const wrapper of body.querySelectorAll("div.table-scroll")) wrapper.replaceWith(...wrapper.childNodes);
  for (const heading of body.querySelectorAll("[class*=depth-]")) {
    const depth = /\bdepth-([1-6])\b/.exec(heading.className)?.[1] ?? "3";
    const own = document.createElement(`h${depth}`);
    own.append(...heading.childNodes);
    heading.replaceWith(own);
  }
  for (const element of body.querySelectorAll("*")) {
    for (const name of ["class", "rel", "target"]) element.removeAttribute(name);
  }
  return new XMLSerializer().serializeToString(body);
}

/** Without the clipboard API, which exists on secure origins only. @param {string} html @param {string} source */
function copyByEvent(html, source) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const area = document.createElement("textarea");
  area.className = "visually-hidden";
  area.value = source;
  document.body.append(area);
  area.select();
  let isCopied = false;
  const take = (/** @type {ClipboardEvent} */ event) => {
    event.clipboardData?.setData("text/html", html);
    event.clipboardData?.setData("text/plain", source);
    event.preventDefault();
    isCopied = Boolean(event.clipboardData);
  };
  document.addEventListener("copy", take, { once: true });
  document.execCommand("copy");
  document.removeEventListener("copy", take);
  area.remove();
  focused?.focus();
  return isCopied;
}
