// Short messages about something that just happened. They are announced politely and disappear by themselves.

import { make } from "./dom.js";
import { sentence } from "./sentence.js";

/** @type {HTMLElement | undefined} */
let region;

/**
 * Shows a message for a few seconds, with an optional action.
 * @param {string} text
 * @param {{label: string, press: () => void, ms?: number}} [action] `ms`: for how long it is offered
 */
export function toast(text, action) {
  const shown = make("div", { class: "toast" }, make("span", {}, ...sentence(text)));
  if (action) {
    const press = () => {
      shown.remove();
      action.press();
    };
    shown.append(make("button", { type: "button", on: { click: press } }, action.label));
  }
  region?.append(shown);
  setTimeout(() => shown.remove(), action ? (action.ms ?? 9000) : 4500);
}

/** The place where toasts appear; put it into the page once. */
export function toastRegion() {
  region = make("div", { class: "toasts", role: "status", "aria-live": "polite" });
  return region;
}
