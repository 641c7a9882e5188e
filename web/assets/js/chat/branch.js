// Second thoughts about an earlier message: what follows it would be put aside, so the person is asked first.

import { confirmDialog } from "../shared/dialog.js";
import { texts } from "../texts.js";

/** @import { Turn } from "./types.js" */

/** How many exchanges follow a turn. @param {Turn[]} turns in their order @param {Turn} turn */
export function countAfter(turns, turn) {
  const at = turns.findIndex((other) => other.key === turn.key);
  return at < 0 ? 0 : turns.length - at - 1;
}

/**
 * Whether to go on; asked only when something follows.
 * @param {Turn[]} turns @param {Turn} turn @param {"retry" | "edit"} kind
 * @returns {Promise<boolean>}
 */
export async function mayReplace(turns, turn, kind) {
  const count = countAfter(turns, turn);
  if (count === 0) return true;
  const words = texts.branch[kind];
  return confirmDialog({ title: words.title, text: texts.branch.body(count), action: words.action });
}
