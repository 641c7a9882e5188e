// Buttons and the theme switch: the controls that both pages share.

import { texts } from "../texts.js";
import { make } from "./dom.js";
import { icon } from "./icons.js";
import { sentence } from "./sentence.js";
import { rememberedTheme, setTheme } from "./theme.js";

/**
 * A button with a label, and an icon in front if one is named.
 * @param {{label: string, icon?: string, look?: string, press?: (event: Event) => void, type?: "button" | "submit"}} options
 */
export function button({ label, icon: name, look = "", press, type = "button" }) {
  const element = make("button", { type, class: `button ${look}`.trim() }, name && icon(name), make("span", {}, label));
  if (press) element.addEventListener("click", press);
  return element;
}

/**
 * An icon-only button; its name is for screen readers and shown on hover.
 * @param {{label: string, icon: string, look?: string, press?: (event: Event) => void}} options
 */
export function iconButton({ label, icon: name, look = "", press }) {
  const element = make(
    "button",
    { type: "button", class: `icon-button ${look}`.trim(), "aria-label": label, title: label },
    icon(name),
  );
  if (press) element.addEventListener("click", press);
  return element;
}

/** The switch between the system's theme, light and dark. */
export function themeSwitch() {
  const group = make("div", { class: "segmented", role: "group", "aria-label": texts.theme.label });
  const choices = /** @type {const} */ ([
    ["system", "screen"],
    ["light", "sun"],
    ["dark", "moon"],
  ]);
  for (const [theme, name] of choices) {
    const label = texts.theme[theme];
    const choice = make("button", { type: "button", "aria-label": label, title: label, data: { theme } }, icon(name));
    choice.addEventListener("click", () => {
      setTheme(theme);
      mark();
    });
    group.append(choice);
  }
  const mark = () => {
    for (const choice of group.querySelectorAll("button")) {
      choice.setAttribute("aria-pressed", String(choice.dataset.theme === rememberedTheme()));
    }
  };
  mark();
  return group;
}

/**
 * A short state as text next to a shape.
 * @param {string} label
 * @param {"good" | "warn" | "bad" | "accent" | ""} [tone]
 * @param {string} [name]
 */
export function badge(label, tone = "", name = "") {
  return make("span", { class: "badge", data: tone ? { tone } : {} }, name && icon(name), label);
}

/**
 * A notice box, with an optional title.
 * @param {{title?: string, text: string, tone?: "warn" | "bad", icon?: string, action?: Node}} options
 */
export function note({ title, text, tone, icon: name = "info", action }) {
  return make(
    "div",
    { class: "note", data: tone ? { tone } : {} },
    icon(name),
    make(
      "div",
      { class: "note-body" },
      title && make("p", { class: "note-title" }, title),
      make("p", {}, ...sentence(text)),
      action,
    ),
  );
}

/** Grey placeholder lines while content loads, visible only after 150 ms. @param {number} lines */
export function skeleton(lines) {
  const box = make("div", { class: "skeleton", "aria-hidden": "true" });
  for (let line = 0; line < lines; line += 1) box.append(make("span"));
  return box;
}
