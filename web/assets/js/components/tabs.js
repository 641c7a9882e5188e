// Tabs: several views of the same thing. Arrow keys move; each view is created when it is first opened.

import { fill, make } from "../shared/dom.js";

let count = 0;

/**
 * @param {{label: string, tabs: {id: string, label: string, view: () => Node}[], current?: string, changed?: (id: string) => void}} options
 */
export function tabs({ label, tabs: entries, current, changed }) {
  count += 1;
  const prefix = `tabs-${count}`;
  const panel = make("div", { role: "tabpanel", id: `${prefix}-panel`, tabindex: "-1" });
  const list = make("div", { class: "tabs", role: "tablist", "aria-label": label });
  /** @type {Map<string, Node>} */ const views = new Map();
  const buttons = entries.map((entry) => {
    const press = make(
      "button",
      { type: "button", role: "tab", id: `${prefix}-${entry.id}`, "aria-controls": `${prefix}-panel` },
      entry.label,
    );
    press.addEventListener("click", () => open(entry.id, true));
    return press;
  });
  list.append(...buttons);
  list.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    const to = (next + buttons.length) % buttons.length;
    buttons[to].focus();
    open(entries[to].id, true);
  });
  const open = (/** @type {string} */ id, isPressed = false) => {
    const at = Math.max(
      0,
      entries.findIndex((entry) => entry.id === id),
    );
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === at));
      button.tabIndex = index === at ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", buttons[at].id);
    const entry = entries[at];
    const view = views.get(entry.id) ?? entry.view();
    views.set(entry.id, view);
    if (panel.firstChild !== view) fill(panel, view);
    if (isPressed) changed?.(entry.id);
  };
  open(current ?? entries[0].id);
  return { element: make("div", {}, list, panel), open };
}
