// Dialogs based on the native element, which traps the focus, closes on Escape, and returns the focus.

import { texts } from "../texts.js";
import { button } from "./controls.js";
import { make } from "./dom.js";
import { visible } from "./visible.js";

let count = 0;

/**
 * Opens a dialog and removes it when it closes.
 * @param {{title: string, body: Node[], actions?: Node[], look?: string, closing?: (close: () => void) => void}} options
 *   `closing` decides what happens when the user turns away by Escape, the system's back gesture, or a press beside the dialog
 * @returns {HTMLDialogElement}
 */
export function openDialog({ title, body, actions = [], look = "", closing = (close) => close() }) {
  count += 1;
  const id = `dialog-title-${count}`;
  const dialog = make(
    "dialog",
    { class: `dialog ${look}`.trim(), "aria-labelledby": id },
    make(
      "div",
      { class: "dialog-body" },
      make("h2", { class: "dialog-title", id }, ...visible(title)),
      ...body,
      actions.length > 0 && make("div", { class: "dialog-actions" }, ...actions),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  const turnAway = () => closing(() => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && turnAway());
  // Escape is taken before it becomes a request to close, because browsers let that be declined only once.
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented || dialog.querySelector(":popover-open"))
      return;
    event.preventDefault();
    turnAway();
  });
  dialog.addEventListener("cancel", (event) => {
    if (event.target !== dialog) return;
    event.preventDefault();
    turnAway();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks for confirmation, of something irreversible or, if it `isSafe`, of something that loses nothing. The focus starts on the
 * cancel button.
 * @param {{title: string, text: string, action: string, isSafe?: boolean}} options
 * @returns {Promise<boolean>}
 */
export function confirmDialog({ title, text, action, isSafe = false }) {
  return new Promise((resolve) => {
    let confirmed = false;
    const cancel = button({ label: texts.dialog.cancel, press: () => dialog.close() });
    const go = button({
      label: action,
      look: isSafe ? "button-primary" : "button-danger",
      press: () => {
        confirmed = true;
        dialog.close();
      },
    });
    const dialog = openDialog({ title, body: [make("p", {}, ...visible(text))], actions: [cancel, go] });
    dialog.addEventListener("close", () => resolve(confirmed));
    cancel.focus();
  });
}
