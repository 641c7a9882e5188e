// The field that finds words within a conversation: up to older messages, down to newer ones, Escape closes it.

import { button, iconButton } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { findingWords as words } from "../texts/finding.js";

/** @typedef {{look: (words: string) => void, step: (by: 1 | -1) => void, closed: () => void}} FindBarActions `1` is older */

const typingMs = 200;

export class FindBar {
  element = make("div", { class: "find-bar", role: "search", "aria-label": words.find, hidden: "" });
  #actions;
  #field = make("input", {
    class: "input",
    type: "search",
    "aria-label": words.find,
    placeholder: words.find,
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "search",
  });
  #state = make("span", { class: "find-state", role: "status" });
  #older = iconButton({ label: words.older, icon: "up", press: () => this.#actions.step(1) });
  #newer = iconButton({ label: words.newer, icon: "down", press: () => this.#actions.step(-1) });
  #timer = 0;
  /** @type {HTMLElement | null} */ #cameFrom = null;

  /** @param {FindBarActions} actions */
  constructor(actions) {
    this.#actions = actions;
    this.element.append(
      this.#field,
      this.#state,
      this.#older,
      this.#newer,
      button({ label: words.close, look: "button-small button-quiet", press: () => this.close() }),
    );
    this.#field.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#look(), typingMs);
    });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.setState("", false);
  }

  get isOpen() {
    return !this.element.hidden;
  }

  open() {
    if (!this.isOpen) this.#cameFrom = /** @type {HTMLElement | null} */ (document.activeElement);
    this.element.hidden = false;
    this.#field.focus();
    this.#field.select();
  }

  close() {
    if (!this.isOpen) return;
    clearTimeout(this.#timer);
    const hadFocus = this.element.contains(document.activeElement);
    this.element.hidden = true;
    this.#field.value = "";
    this.setState("", false);
    this.#actions.closed();
    if (hadFocus) this.#cameFrom?.focus({ preventScroll: true });
  }

  /** @param {string} text what was found @param {boolean} hasHits */
  setState(text, hasHits) {
    if (this.#state.textContent !== text) this.#state.textContent = text;
    this.#older.disabled = this.#newer.disabled = !hasHits;
  }

  #look() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#actions.look(this.#field.value.trim());
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.close();
      return;
    }
    if (event.target !== this.#field) return;
    const by = event.key === "ArrowUp" || (event.key === "Enter" && !event.shiftKey) ? 1 : -1;
    if (by < 0 && event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    // What was just typed has not been searched for yet.
    if (this.#timer) this.#look();
    else this.#actions.step(by);
  }
}
