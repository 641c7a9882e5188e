// Diagrams. A block of mermaid code stays code until its button is pressed; then it is drawn in a frame that can reach neither the
// page nor the network. Nothing comes back from the frame but its height or the sentence of a fault.

import { make } from "../shared/dom.js";
import { visible } from "../shared/visible.js";
import { readingWords as words } from "../texts/reading.js";

const address = new URL("../../frame/diagram.html", import.meta.url);
const highest = 1600;
const longest = 50000;

/** @type {Set<() => void>} What draws the diagrams on the page again. */
const shown = new Set();
const dark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

/** Whether the page is dark now. */
function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : Boolean(dark?.matches);
}

const redraw = () => shown.forEach((draw) => draw());

let isFollowing = false;

/** Diagrams follow the theme of the page. */
function followTheme() {
  if (isFollowing) return;
  isFollowing = true;
  dark?.addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

/**
 * The button that shows a block of code as a diagram, or as code again.
 * @param {HTMLElement} figure what holds the code; the diagram takes its place
 * @param {HTMLElement} pre
 */
export function diagramButton(figure, pre) {
  /** @type {HTMLElement | null} */
  let box = null;
  const label = make("span", {}, words.showDiagram);
  const button = make("button", { type: "button", class: "button button-small button-quiet diagram-button" }, label);
  const showCode = (/** @type {string} */ fault) => {
    box?.remove();
    box = null;
    pre.hidden = false;
    label.textContent = words.showDiagram;
    figure.querySelector(":scope > .diagram-fault")?.remove();
    if (fault) figure.append(make("p", { class: "diagram-fault", role: "status" }, ...visible(words.diagramFault(fault))));
  };
  button.addEventListener("click", () => {
    if (box) return showCode("");
    showCode("");
    const text = pre.textContent ?? "";
    if (text.length > longest) return showCode(words.diagramTooLong);
    box = diagram(text, {
      drawn: () => (pre.hidden = true),
      failed: showCode,
    });
    label.textContent = words.showCode;
    figure.append(box);
  });
  return button;
}

/**
 * @param {string} text
 * @param {{drawn: () => void, failed: (fault: string) => void}} answers
 */
function diagram(text, { drawn, failed }) {
  followTheme();
  const frame = make("iframe", {
    class: "diagram",
    sandbox: "allow-scripts",
    src: address.href,
    title: words.diagram,
    referrerpolicy: "no-referrer",
  });
  const draw = () => {
    if (frame.isConnected) frame.contentWindow?.postMessage({ text, isDark: isDark() }, "*");
    else forget();
  };
  const hear = (/** @type {MessageEvent} */ event) => {
    if (!frame.isConnected) return forget();
    if (event.source !== frame.contentWindow) return;
    const { isReady, height, fault } = event.data ?? {};
    if (isReady === true) draw();
    else if (typeof height === "number" && height > 0) {
      frame.style.height = `${Math.min(Math.ceil(height), highest)}px`;
      drawn();
    } else if (typeof fault === "string") {
      forget();
      failed(fault.slice(0, 300));
    }
  };
  const forget = () => {
    shown.delete(draw);
    removeEventListener("message", hear);
  };
  shown.add(draw);
  addEventListener("message", hear);
  return frame;
}
