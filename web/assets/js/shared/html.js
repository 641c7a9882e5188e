// The only function that sets HTML, for server-rendered Markdown. The server already escapes raw HTML and restricts links; this
// is the second line of defence. HTML is parsed inertly (a document without a window runs and loads nothing), and only elements
// and attributes that Markdown can produce are let through.

const elements = new Set(
  (
    "A BLOCKQUOTE BR CODE DD DEL DETAILS DIV DL DT EM H1 H2 H3 H4 H5 H6 HR INPUT INS KBD LI MARK OL P PRE S SECTION SPAN " +
    "STRONG SUB SUMMARY SUP TABLE TBODY TD TH THEAD TR U UL"
  ).split(" "),
);
const attributes = new Set([
  "href",
  "title",
  "align",
  "start",
  "class",
  "type",
  "checked",
  "disabled",
  "colspan",
  "rowspan",
  "dir",
  "open",
]);
const safeLink = /^(https?:|mailto:)/i;

/**
 * Puts server-rendered Markdown into an element, replacing its content.
 * @param {Element} target
 * @param {string} html
 */
export function setRenderedHtml(target, html) {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  for (const element of [...body.querySelectorAll("*")]) restrict(element);
  target.replaceChildren(...body.childNodes);
}

/** @param {Element} element */
function restrict(element) {
  if (!elements.has(element.tagName)) {
    element.replaceWith(...(element instanceof HTMLElement ? [element.textContent ?? ""] : []));
    return;
  }
  for (const { name, value } of [...element.attributes]) {
    const allowed = attributes.has(name) && (name !== "href" || safeLink.test(value.trim()));
    if (!allowed) element.removeAttribute(name);
  }
  if (element.tagName === "INPUT") {
    element.setAttribute("type", "checkbox");
    element.setAttribute("disabled", "");
  }
  if (element.tagName === "A" && element.hasAttribute("href")) {
    element.setAttribute("rel", "noopener noreferrer");
    element.setAttribute("target", "_blank");
  }
}
