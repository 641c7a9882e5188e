// Chooses how much the model thinks in the open conversation. By default nothing is chosen, and the server's setting applies.

import { make } from "../shared/dom.js";
import { texts } from "../texts.js";

/** @import { Effort } from "./types.js" */

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

  /** @param {(effort: Effort | null) => void} choose null is the default */
  constructor(choose) {
    this.#select.addEventListener("change", () => choose(/** @type {Effort | ""} */ (this.#select.value) || null));
  }

  /** @param {Effort | null} effort */
  setChosen(effort) {
    this.#select.value = effort ?? "";
  }
}
