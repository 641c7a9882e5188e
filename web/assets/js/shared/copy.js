// Copies text. The clipboard API exists on secure origins only, so there is a fallback.

import { texts } from "../texts.js";
import { make } from "./dom.js";
import { icon } from "./icons.js";
import { toast } from "./toast.js";

/** @param {string} text @returns {Promise<boolean>} */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/**
 * An icon button that copies, and confirms it in place.
 * @param {string} label
 * @param {() => string} text
 */
export function copyButton(label, text) {
  const element = make(
    "button",
    { type: "button", class: "icon-button icon-button-small", "aria-label": label, title: label },
    icon("copy"),
  );
  element.addEventListener("click", async () => {
    if (!(await copyText(text()))) {
      toast(texts.turn.copyFailed);
      return;
    }
    element.replaceChildren(icon("check"));
    element.setAttribute("aria-label", texts.turn.copied);
    setTimeout(() => {
      element.replaceChildren(icon("copy"));
      element.setAttribute("aria-label", label);
    }, 1600);
  });
  return element;
}

/** @param {string} text */
function copyBySelection(text) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const area = make("textarea", { class: "visually-hidden", "aria-hidden": "true", tabindex: "-1", value: text });
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return copied;
}
