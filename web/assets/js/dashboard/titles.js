// What conversations are called, for the places that are told only their ids. Of those that are no longer listed the id remains.

/** @import { Context } from "./context.js" */

const path = "/api/sessions?limit=500";

/**
 * Asks for the titles, and calls when they are there.
 * @param {Context} context @param {() => void} [changed]
 */
export function loadTitles(context, changed) {
  if (changed) context.store.watch(path, changed, context.signal);
  void context.store.load(path);
}

/** @param {Context} context @param {string} id */
export function titleFor(context, id) {
  const sessions = /** @type {any[]} */ (context.store.get(path)?.value?.sessions ?? []);
  return String(sessions.find((session) => session.session_id === id)?.title || id);
}
