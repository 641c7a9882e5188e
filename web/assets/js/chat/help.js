// The list of keyboard shortcuts with the way to the handbook, and the page-wide shortcuts.

import { at } from "../shared/base.js";
import { button } from "../shared/controls.js";
import { openDialog } from "../shared/dialog.js";
import { make } from "../shared/dom.js";
import { texts } from "../texts.js";
import { handbookWords } from "../texts/handbook.js";
import { entersLine } from "./enter.js";

export function openHelp() {
  const list = make("dl", { class: "keys" });
  const writing = entersLine() ? texts.help.writingByTouch : texts.help.writing;
  for (const [label, keys] of [...writing, ...texts.help.rows]) {
    const strokes = [...keys].flatMap((key, index) => [index > 0 ? " + " : null, make("kbd", {}, key)]);
    list.append(make("dt", {}, String(label)), make("dd", {}, ...strokes));
  }
  const book = make("a", { class: "help-book", href: at("/docs/handbook") }, handbookWords.fromHelp);
  const close = button({ label: texts.help.close, press: () => dialog.close() });
  const dialog = openDialog({ title: texts.help.title, body: [list, book], actions: [close] });
  close.focus();
}

/**
 * @param {{stop: () => boolean, closeDrawer: () => boolean, search: () => void, newChat: () => void, write: () => void,
 *   toEnd: () => void}} actions
 */
export function listenForShortcuts(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented || document.querySelector("dialog[open], [popover]:popover-open"))
      return;
    const target = /** @type {HTMLElement} */ (event.target);
    const isTyping = target.matches("input, textarea, select, [contenteditable]");
    // In another field, Esc concerns that field and not the reply.
    const isElsewhere = isTyping && target.id !== "message";
    const command = event.ctrlKey || event.metaKey;
    if (event.key === "Escape") {
      if (actions.closeDrawer() || (!isElsewhere && actions.stop())) event.preventDefault();
    } else if (command && event.key.toLowerCase() === "k") {
      event.preventDefault();
      actions.search();
    } else if (event.altKey && event.code === "KeyN") {
      event.preventDefault();
      actions.newChat();
    } else if (event.altKey && event.key === "End") {
      event.preventDefault();
      actions.toEnd();
    } else if (!isTyping && !command && !event.altKey && event.key === "/") {
      event.preventDefault();
      actions.write();
    } else if (!isTyping && !command && !event.altKey && event.key === "?") {
      event.preventDefault();
      openHelp();
    }
  });
}
