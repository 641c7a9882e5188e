// A menu that opens below its button: arrow keys move, Escape closes and returns the focus. It is a popover, so it is above
// everything and closes on a press elsewhere.

import { iconButton } from "./controls.js";
import { make } from "./dom.js";
import { icon } from "./icons.js";

/**
 * `isChosen` is given by items of which one applies.
 * @typedef {{label: string, icon: string, danger?: boolean, isChosen?: boolean, press: () => void}} MenuItem
 */

/**
 * Makes `trigger` open a menu.
 * @param {HTMLElement} trigger
 * @param {() => MenuItem[]} items called on each opening, so that the menu shows the current state
 */
export function menuOn(trigger, items) {
  trigger.setAttribute("aria-haspopup", "menu");
  trigger.setAttribute("aria-expanded", "false");
  trigger.addEventListener("click", (event) => {
    event.preventDefault();
    if (trigger.getAttribute("aria-expanded") === "true") return;
    open(trigger, items());
  });
}

/**
 * The small button with three dots at the end of a row, and its menu.
 * @param {string} label
 * @param {() => MenuItem[]} items called on each opening
 */
export function rowMenu(label, items) {
  const trigger = iconButton({ label, icon: "more", look: "icon-button-small" });
  menuOn(trigger, items);
  return trigger;
}

/** @param {HTMLElement} trigger @param {MenuItem[]} items */
function open(trigger, items) {
  const menu = make("div", {
    class: "menu",
    role: "menu",
    popover: "auto",
    "aria-label": trigger.getAttribute("aria-label"),
  });
  for (const item of items) {
    const entry = make(
      "button",
      {
        type: "button",
        role: item.isChosen === undefined ? "menuitem" : "menuitemradio",
        "aria-checked": item.isChosen === undefined ? undefined : String(item.isChosen),
        tabindex: "-1",
        class: item.danger ? "danger" : undefined,
      },
      icon(item.icon),
      item.label,
    );
    entry.addEventListener("click", () => {
      trigger.setAttribute("aria-expanded", "false");
      menu.hidePopover();
      item.press();
    });
    menu.append(entry);
  }
  menu.addEventListener("keydown", (event) => move(menu, event));
  menu.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState !== "closed") return;
    trigger.setAttribute("aria-expanded", "false");
    if (menu.contains(document.activeElement) || document.activeElement === document.body) trigger.focus();
    menu.remove();
  });
  trigger.after(menu);
  menu.showPopover();
  trigger.setAttribute("aria-expanded", "true");
  place(menu, trigger.getBoundingClientRect());
  /** @type {HTMLElement | null} */ (menu.firstElementChild)?.focus();
}

/** @param {HTMLElement} menu @param {DOMRect} anchor */
function place(menu, anchor) {
  const below = anchor.bottom + 4 + menu.offsetHeight < innerHeight;
  menu.style.top = `${below ? anchor.bottom + 4 : anchor.top - 4 - menu.offsetHeight}px`;
  menu.style.left = `${Math.max(8, Math.min(anchor.left, innerWidth - menu.offsetWidth - 8))}px`;
}

/** @param {HTMLElement} menu @param {KeyboardEvent} event */
function move(menu, event) {
  const entries = /** @type {HTMLElement[]} */ ([...menu.children]);
  const at = entries.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const last = entries.length - 1;
  const target = { ArrowDown: at === last ? 0 : at + 1, ArrowUp: at <= 0 ? last : at - 1, Home: 0, End: last }[
    event.key
  ];
  if (event.key === "Tab") menu.hidePopover();
  if (target === undefined) return;
  event.preventDefault();
  entries[target]?.focus();
}
