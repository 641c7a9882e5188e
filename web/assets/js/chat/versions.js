// "2 of 3" under an answer that a retry or an edit has given several versions, with buttons and arrow keys for the others.

import { button } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { versionWords as words } from "../texts/versions.js";

/** @import { Turn } from "./types.js" */

/** The version to the left or the right of the present one. @param {Turn} turn @param {number} step @returns {string | undefined} */
export function neighbour({ id, versions }, step) {
  const at = versions.indexOf(id ?? "");
  return at < 0 ? undefined : versions[at + step];
}

/** @param {Turn} turn @param {(to: string) => void} choose */
export function versionPager(turn, choose) {
  const at = turn.versions.indexOf(turn.id ?? "");
  const [index, count] = [at + 1, turn.versions.length];
  if (index < 1 || count < 2) return undefined;
  const go = (/** @type {number} */ step) => {
    const to = neighbour(turn, step);
    if (to) choose(to);
  };
  const step = (/** @type {string} */ label, /** @type {number} */ by) => {
    const press = button({ label: by < 0 ? "‹" : "›", look: "button-small version-step", press: () => go(by) });
    press.setAttribute("aria-label", label);
    press.disabled = !neighbour(turn, by);
    return press;
  };
  const group = make(
    "div",
    { class: "versions", role: "group", tabindex: "-1", "aria-label": words.name(index, count) },
    step(words.previous, -1),
    make("span", {}, words.place(index, count)),
    step(words.next, 1),
  );
  group.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go(by);
  });
  return group;
}
