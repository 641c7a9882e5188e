// What follows a turn. A retry or an edit keeps it with the version that it replaces. Pure.

/** @import { Turn } from "./types.js" */

/** The number of exchanges after a turn. @param {Turn[]} turns in order @param {Turn} turn */
export function countAfter(turns, turn) {
  const at = turns.findIndex((other) => other.key === turn.key);
  return at < 0 ? 0 : turns.length - at - 1;
}
