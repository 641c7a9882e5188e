// A sheet at the right edge that shows one item of a list in full. A native dialog: it traps the focus, closes on Escape, and
// returns the focus. The item is named in the address; closing returns to the list's address. What was typed in it is not thrown
// away unasked.

import { iconButton } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { openDialog } from "../shared/dialog.js";
import { mayDiscard } from "../shared/unsaved.js";
import { visible } from "../shared/visible.js";
import { shell } from "../texts/shell.js";

/**
 * @param {{title: string, body: import("../shared/dom.js").Child[], actions?: Node[], closed: () => void}} options
 *   `closed` is called however it closes
 */
export function openDrawer({ title, body, actions = [], closed }) {
  const closing = async (/** @type {() => void} */ close) => (await mayDiscard()) && close();
  const dialog = openDialog({ title, body: [], look: "drawer", closing: (shut) => void closing(shut) });
  const inner = /** @type {HTMLElement} */ (dialog.firstElementChild);
  const heading = /** @type {HTMLElement} */ (inner.querySelector("h2"));
  const close = iconButton({ label: shell.close, icon: "close", press: () => void closing(() => dialog.close()) });
  const content = make("div", { class: "stack" });
  const show = (/** @type {{title?: string, body: import("../shared/dom.js").Child[], actions?: Node[]}} */ next) => {
    if (next.title !== undefined) fill(heading, ...visible(next.title));
    fill(
      content,
      ...next.body,
      ...(next.actions && next.actions.length > 0 ? [make("div", { class: "dialog-actions" }, ...next.actions)] : []),
    );
  };
  inner.prepend(make("div", { class: "drawer-head" }, heading, close));
  inner.append(content);
  show({ title, body, actions });
  dialog.addEventListener("close", closed, { once: true });
  return { dialog, show, close: () => dialog.close() };
}

/** A list of names and values. @param {([string, import("../shared/dom.js").Child] | "" | false | null | undefined)[]} pairs */
export function pairs(...pairs) {
  const list = make("dl", { class: "pairs" });
  for (const pair of pairs)
    if (pair && pair[1] !== null && pair[1] !== undefined && pair[1] !== false && pair[1] !== "")
      list.append(make("dt", {}, pair[0]), make("dd", {}, pair[1]));
  return list;
}
