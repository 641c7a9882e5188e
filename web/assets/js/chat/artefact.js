// Artefacts: a code block that is a page or a picture gets the button **Preview**. What shows it is loaded when it is pressed;
// until then nothing of the code runs.

import { iconButton } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { importAgain } from "../shared/import-again.js";
import { saveFile } from "../shared/save-file.js";
import { toast } from "../shared/toast.js";
import { artefactWords as words } from "../texts/artefacts.js";

/** @import { Kind, Preview } from "../artefact/preview.js" */

const script = new URL("../artefact/preview.js", import.meta.url).href;

/** What a block offers. @typedef {{button: HTMLElement, preview: Preview | null}} Offer */
/** @type {WeakMap<HTMLElement, Offer>} */
const offers = new WeakMap();

/**
 * What a code block shows, if it shows anything.
 * @param {string} label its language, as it was written
 * @param {string} text
 * @returns {Kind | ""}
 */
export function artefactKind(label, text) {
  const language = label.toLowerCase();
  if (!["html", "htm", "xhtml", "svg", "xml"].includes(language) || !text.trim()) return "";
  if (isPicture(text)) return "svg";
  return language === "svg" || language === "xml" ? "" : "html";
}

/**
 * Whether a text is an SVG picture, which comments may precede. Step by step: one pattern for all of it would take for ever on
 * many comments.
 * @param {string} text
 */
function isPicture(text) {
  let rest = text.trimStart().replace(/^<\?xml[^>]*>/i, "");
  for (;;) {
    rest = rest.trimStart();
    const end = rest.startsWith("<!--") ? rest.indexOf("-->", 4) + 3 : (/^<!doctype\s+svg[^>]*>/i.exec(rest)?.[0].length ?? 0);
    if (end < 4) return /^<svg[\s>]/i.test(rest);
    rest = rest.slice(end);
  }
}

/**
 * Offers the preview of a code block that is complete. One that is open already shows what the block has become.
 * @param {HTMLElement} figure
 */
export function offerPreview(figure) {
  const pre = figure.querySelector("pre");
  const text = pre?.textContent ?? "";
  const kind = artefactKind(figure.dataset.language ?? "", text);
  const offer = offers.get(figure);
  if (offer) {
    if (kind) return offer.preview?.show(kind, text);
    offer.preview?.close();
    offer.button.remove();
    offers.delete(figure);
  } else if (kind && pre) {
    const button = make(
      "button",
      { type: "button", class: "button button-small button-quiet artefact-button", title: words.hint },
      words.preview,
    );
    button.addEventListener("click", () => void open(figure, pre));
    offers.set(figure, { button, preview: null });
    figure.querySelector("figcaption > span")?.after(button);
  }
}

/** @param {HTMLElement} figure @param {HTMLElement} pre */
async function open(figure, pre) {
  const offer = offers.get(figure);
  if (!offer) return;
  try {
    /** @type {typeof import("../artefact/preview.js")} */
    const { Preview } = await importAgain(script);
    const text = pre.textContent ?? "";
    const kind = artefactKind(figure.dataset.language ?? "", text);
    if (!kind || !figure.isConnected || offers.get(figure) !== offer) return;
    offer.preview ??= new Preview({ figure, pre, button: offer.button, words, make, iconButton, saveFile });
    offer.preview.open(kind, text);
  } catch {
    toast(words.failed);
  }
}
