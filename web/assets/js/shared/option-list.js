// A list of options that a text field drives, as the ARIA pattern of a combobox has it: the focus stays in the field, the arrow
// keys move the active option, Enter picks it. Used where what is typed narrows the list.

import { fill, make } from "./dom.js";

/**
 * `key` tells options apart. `group` is shown above the first option of its kind.
 * @typedef {{key: string, label: string, detail?: string, group?: string, isChosen?: boolean}} Option
 */

let lists = 0;

/** @template {Option} [Item=Option] */
export class OptionList {
  element;
  #field;
  #pick;
  /** @type {Item[]} */ #options = [];
  /** @type {HTMLElement[]} */ #rows = [];
  #active = -1;
  #id = `options-${++lists}`;

  /**
   * @param {HTMLElement} field the text field that keeps the focus
   * @param {string} label what the list holds
   * @param {(option: Item) => void} pick
   */
  constructor(field, label, pick) {
    this.#field = field;
    this.#pick = pick;
    this.element = make("div", { class: "options", role: "listbox", id: this.#id, "aria-label": label });
    field.setAttribute("aria-controls", this.#id);
    field.setAttribute("aria-autocomplete", "list");
    // A press must not take the focus from the field.
    this.element.addEventListener("pointerdown", (event) => event.preventDefault());
  }

  /** @returns {boolean} whether there is anything to pick */
  get isEmpty() {
    return this.#options.length === 0;
  }

  /** The option that Enter picks. @returns {Item | undefined} */
  get active() {
    return this.#options[this.#active];
  }

  /** Shows these options; the chosen one is active, else the first. @param {Item[]} options @param {boolean} [isNoneActive] */
  show(options, isNoneActive = false) {
    const held = this.active?.key;
    this.#options = options;
    this.#rows = options.map((option, index) => this.#row(option, index));
    const groups = options.map(({ group }, index) => (group && group !== options[index - 1]?.group ? group : ""));
    fill(
      this.element,
      ...this.#rows.flatMap((row, index) => [
        groups[index] && make("div", { class: "options-group", role: "presentation" }, groups[index]),
        row,
      ]),
    );
    const same = options.findIndex(({ key }) => key === held);
    const chosen = options.findIndex(({ isChosen }) => isChosen);
    this.#activate(isNoneActive ? -1 : same >= 0 ? same : Math.max(chosen, 0));
  }

  /**
   * Moves or picks by a key.
   * @param {KeyboardEvent} event @returns {boolean} whether the key was for the list; then the field must not see it
   */
  key(event) {
    if (this.isEmpty || event.isComposing) return false;
    const last = this.#options.length - 1;
    if (event.key === "ArrowDown") this.#activate(this.#active >= last ? 0 : this.#active + 1);
    else if (event.key === "ArrowUp") this.#activate(this.#active <= 0 ? last : this.#active - 1);
    else if (event.key === "Enter" && this.active) this.#pick(this.active);
    else return false;
    event.preventDefault();
    return true;
  }

  /** @param {Item} option @param {number} index */
  #row(option, index) {
    return make(
      "div",
      {
        role: "option",
        id: `${this.#id}-${index}`,
        class: "option",
        "aria-selected": String(Boolean(option.isChosen)),
        data: { key: option.key },
        on: { click: () => this.#pick(option) },
      },
      make("span", { class: "option-label" }, option.label),
      option.detail && make("span", { class: "option-detail" }, option.detail),
    );
  }

  /** @param {number} index */
  #activate(index) {
    this.#rows[this.#active]?.classList.remove("is-active");
    this.#active = index < this.#rows.length ? index : -1;
    const row = this.#rows[this.#active];
    row?.classList.add("is-active");
    row?.scrollIntoView({ block: "nearest" });
    if (row) this.#field.setAttribute("aria-activedescendant", row.id);
    else this.#field.removeAttribute("aria-activedescendant");
  }
}
