// Parts of panels: a card with one fact, a section head, and placeholders for missing data.

import { button, note, skeleton } from "../shared/controls.js";
import { make, refill } from "../shared/dom.js";
import { texts } from "../texts.js";

/** @import { Path } from "../shared/api.js" */
/** @import { Store } from "./store.js" */

/** @param {string} label @param {import("../shared/dom.js").Child} value @param {string} [more] */
export function fact(label, value, more) {
  return make(
    "div",
    { class: "card" },
    make("dt", {}, label),
    make("dd", { class: "card-value" }, value),
    more && make("dd", { class: "card-more" }, more),
  );
}

/** @param {string} title @param {Node | false} [aside] */
export const sectionHead = (title, aside) => make("div", { class: "section-head" }, make("h2", {}, title), aside);

/** @typedef {{element: HTMLElement, update: () => void}} View created once, and updated on changes */

/**
 * Makes this the only content of an element. Equal content stays, and so do the focus and selection in it.
 * @param {Element} host
 * @param {Node} node
 */
export function place(host, node) {
  const there = host.firstChild;
  if (there !== node && !there?.isEqualNode(node)) refill(host, node);
}

/**
 * The same for a row of similar cards: only changed cards are replaced.
 * @param {Element} host
 * @param {Element[]} cards
 */
export function placeEach(host, cards) {
  cards.forEach((card, index) => {
    const there = host.children[index];
    if (!there) host.append(card);
    else if (!there.isEqualNode(card)) refill(there, ...card.childNodes);
  });
  while (host.children.length > cards.length) host.lastElementChild?.remove();
}

/**
 * Shows the answer of a request, a loading state, or the error with a retry button.
 * @template [Answer=unknown]
 * @param {Store} store
 * @param {Path<Answer>} path
 * @param {string} failure
 * @param {(value: NoInfer<Answer>) => Node} show
 */
export function loaded(store, path, failure, show) {
  const held = store.get(path);
  if (!held) return skeleton(4);
  if (held.value !== undefined) return show(held.value);
  const again = make(
    "div",
    {},
    button({ label: texts.error.again, icon: "retry", look: "button-small", press: () => void store.load(path) }),
  );
  return note({
    title: failure,
    text: held.problem?.message ?? texts.error.server,
    tone: "bad",
    icon: "alert",
    action: again,
  });
}
