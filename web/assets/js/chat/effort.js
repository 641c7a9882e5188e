// How much the model is to think before it answers: chosen for each conversation, and forgotten with the page. Nothing is
// chosen by default, and then the server's own setting holds.

import { make } from "../shared/dom.js";
import { texts } from "../texts.js";

export class EffortChoice {
  #select = make(
    "select",
    { id: "effort" },
    ...Object.entries(texts.effort.levels).map(([value, label]) => make("option", { value }, label)),
  );
  element = make("div", { class: "composer-effort" }, make("label", { for: "effort" }, texts.effort.label), this.#select);
  /** @type {Map<string, string>} */ #chosen = new Map();
  #session = "";

  constructor() {
    this.#select.addEventListener("change", () => this.#chosen.set(this.#session, this.#select.value));
  }

  /** What is chosen in the open conversation; "" when nothing is. */
  get value() {
    return this.#select.value;
  }

  /** @param {string} session */
  switchTo(session) {
    this.#session = session;
    this.#select.value = this.#chosen.get(session) ?? "";
  }
}
