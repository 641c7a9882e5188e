// The outline of a long answer: a folded list of its headings, which lead to them.

import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { readingWords as words } from "../texts/reading.js";
import { reveal } from "./reveal.js";

/** From this many headings and letters on an answer has an outline. */
const fewest = 3;
const shortest = 1000;
const most = 60;

/** @param {Element} parts the blocks of a finished reply */
function headingsOf(parts) {
  const found = parts.querySelectorAll(":scope > .prose > :is(h1, h2, h3, h4, h5, h6)");
  return /** @type {HTMLElement[]} */ ([...found]).filter((heading) => heading.textContent?.trim()).slice(0, most);
}

/**
 * Draws the outline of the parts into its place, or nothing if they have few headings.
 * @param {HTMLElement} place
 * @param {HTMLElement} parts
 */
export function drawOutline(place, parts) {
  const headings = headingsOf(parts);
  const says = headings.map((heading) => `${heading.ariaLevel} ${heading.textContent}`).join("\n");
  if (place.dataset.says === says) return;
  place.dataset.says = says;
  if (headings.length < fewest || (parts.textContent ?? "").length < shortest) return fill(place);
  const top = Math.min(...headings.map(levelOf));
  const rows = headings.map((heading, index) => {
    const button = make("button", { type: "button", dir: "auto" }, heading.textContent?.trim());
    // The heading may have been drawn anew since.
    button.addEventListener("click", () => goTo(headingsOf(parts)[index] ?? heading));
    return make("li", { data: { depth: Math.min(levelOf(heading) - top, 3) } }, button);
  });
  fill(
    place,
    make(
      "nav",
      { class: "reading-outline", "aria-label": words.outlineLabel },
      make(
        "details",
        {},
        make("summary", {}, icon("chevron", "chevron"), words.outline(headings.length)),
        make("ol", { role: "list" }, ...rows),
      ),
    ),
  );
}

/** @param {HTMLElement} heading */
const levelOf = (heading) => Number(heading.getAttribute("aria-level") ?? heading.tagName[1]);

/** @param {HTMLElement} heading */
function goTo(heading) {
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  reveal(heading, true);
}
