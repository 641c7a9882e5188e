// Several conversations of the list at once: which are selected, and the bar that says what can be done with them.

import { button, iconButton } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { selectionWords as words } from "../texts/several.js";

/**
 * @typedef {{changed: () => void, order: () => string[], archive: (names: string[]) => void, move: (names: string[]) => void,
 *   remove: (names: string[]) => void}} SelectionActions `order`: the names as the list shows them
 */

export class Selection {
  bar = make("div", { class: "selection", role: "toolbar", "aria-label": words.bar, hidden: true });
  #actions;
  #count = make("span", { class: "selection-count", role: "status" });
  /** @type {Set<string>} */ #names = new Set();
  #last = "";

  /** @param {SelectionActions} actions */
  constructor(actions) {
    this.#actions = actions;
    const act = (/** @type {(names: string[]) => void} */ act) => () => this.#names.size > 0 && act([...this.#names]);
    this.bar.append(
      this.#count,
      iconButton({ label: words.archive, icon: "archive", press: act(actions.archive) }),
      iconButton({ label: words.move, icon: "folder", press: act(actions.move) }),
      iconButton({ label: words.remove, icon: "trash", press: act(actions.remove) }),
      button({ label: words.done, look: "button-small", press: () => this.end() }),
    );
  }

  get isOn() {
    return !this.bar.hidden;
  }

  /** @param {string} name */
  has(name) {
    return this.#names.has(name);
  }

  /** Begins with one conversation. @param {string} name */
  begin(name) {
    this.#names = new Set([name]);
    this.#last = name;
    this.bar.hidden = false;
    this.#draw();
  }

  /** Selects a conversation or takes it out; a range, from the last one on, is selected. @param {string} name @param {boolean} isRange */
  toggle(name, isRange) {
    const order = this.#actions.order();
    const [from, to] = [order.indexOf(this.#last), order.indexOf(name)].sort((one, other) => one - other);
    if (isRange && from >= 0) for (const between of order.slice(from, to + 1)) this.#names.add(between);
    else if (!this.#names.delete(name)) this.#names.add(name);
    this.#last = name;
    this.#draw();
  }

  /** Forgets those that are no longer in the list. @param {Set<string>} there */
  keepOnly(there) {
    for (const name of this.#names) if (!there.has(name)) this.#names.delete(name);
    const text = words.count(this.#names.size);
    if (this.#count.textContent !== text) this.#count.textContent = text;
  }

  end() {
    if (!this.isOn) return;
    this.#names.clear();
    this.bar.hidden = true;
    this.#draw();
  }

  #draw() {
    this.#count.textContent = words.count(this.#names.size);
    this.#actions.changed();
  }
}
