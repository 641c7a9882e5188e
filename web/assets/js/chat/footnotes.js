// Footnotes of a reply: the mark leads to its note, and the number of the note back to the mark. They are found by their names
// within the reply, because the same names stand in many replies.

import { make } from "../shared/dom.js";
import { readingWords as words } from "../texts/reading.js";
import { reveal } from "./reveal.js";

const marks = ".footnote-reference > .footnote-link";
const notes = ".footnote > .footnote-name > .footnote-link";

/** @param {Element} block */
export function dressFootnotes(block) {
  for (const mark of block.querySelectorAll(".footnote-reference")) link(mark, words.footnote, notes);
  for (const name of block.querySelectorAll(".footnote > .footnote-name")) link(name, words.footnoteBack, marks);
}

/** @param {Element} place @param {(name: string) => string} label @param {string} others */
function link(place, label, others) {
  const name = place.textContent ?? "";
  const button = make("button", { type: "button", class: "footnote-link", "aria-label": label(name), data: { name } }, name);
  button.addEventListener("click", () => {
    const reply = button.closest(".reply-parts, .rendered");
    const partners = /** @type {NodeListOf<HTMLElement>} */ (reply?.querySelectorAll(others) ?? []);
    const partner = [...partners].find((other) => other.dataset.name === name);
    if (!partner) return;
    partner.focus({ preventScroll: true });
    reveal(partner, false);
  });
  place.replaceChildren(button);
}
