// Asks for confirmation before an earlier message is retried or edited, because that discards everything after it.

import { confirmDialog } from "../shared/dialog.js";
import { texts } from "../texts.js";

/** @import { Turn } from "./types.js" */

/** The number of exchanges after a turn. @param {Turn[]} turns in order @param {Turn} turn */
export function countAfter(turns, turn) {
  const at = turns.findIndex((other) => other.key === turn.key);
  return at < 0 ? 0 : turns.length - at - 1;
}

/**
 * Returns whether to go on; asks only if something would be discarded.
 * @param {Turn[]} turns @param {Turn} turn @param {"retry" | "edit"} kind
 * @returns {Promise<boolean>}
 */
export async function mayReplace(turns, turn, kind) {
  const count = countAfter(turns, turn);
  if (count === 0) return true;
  const words = texts.branch[kind];
  return confirmDialog({ title: words.title, text: texts.branch.body(count), action: words.action, isSafe: true });
}
