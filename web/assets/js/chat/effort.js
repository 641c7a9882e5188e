// Chooses the model's effort per conversation, until the page is closed. By default nothing is chosen, and the server's setting
// applies.

import { make } from "../shared/dom.js";
import { texts } from "../texts.js";

export class EffortChoice {
  #select = make(
    "select",
    { id: "effort" },
    ...Object.entries(texts.effort.levels).map(([value, label]) => make("option", { value }, label)),
  );
  element = make(
    "div",
    { class: "composer-effort" },
    make("label", { for: "effort" }, texts.effort.label),
    this.#select,
  );
  /** @type {Map<string, string>} */ #chosen = new Map();
  #session = "";

  constructor() {
    this.#select.addEventListener("change", () => this.#chosen.set(this.#session, this.#select.value));
  }

  /** The effort chosen in the open conversation, or "". */
  get value() {
    return this.#select.value;
  }

  /** @param {string} session */
  switchTo(session) {
    this.#session = session;
    this.#select.value = this.#chosen.get(session) ?? "";
  }
}
