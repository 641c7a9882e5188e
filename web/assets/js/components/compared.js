// What is compared when something was changed elsewhere: theirs with mine and, where it is known what both began with, what each
// of them changed.

import { make } from "../shared/dom.js";
import { conflictWords as words } from "../texts/conflict.js";
import { diffView } from "./code.js";

/** @param {{base: string | null, theirs: string, mine: string}} texts @returns {Node[]} */
export function compared({ base, theirs, mine }) {
  const part = (/** @type {string} */ label, /** @type {string} */ before, /** @type {string} */ after) =>
    make("section", { class: "stack" }, make("h3", {}, label), diffView(before, after, label));
  const whole = part(words.ours, theirs, mine);
  return base === null ? [whole] : [part(words.changedThere, base, theirs), part(words.changedHere, base, mine), whole];
}
