// The titles of conversations, for places that know only their ids. Conversations that are no longer listed are shown by id.

/** @import { Context } from "../../context.js" */
/** @import { Session } from "../../../wire/api.js" */

const path = "/api/sessions?limit=500";

/**
 * Requests the titles, and calls `changed` when they arrive.
 * @param {Context} context @param {() => void} [changed]
 */
export function loadTitles(context, changed) {
  if (changed) context.store.watch(path, changed, context.signal);
  void context.store.load(path);
}

/** @param {Context} context @param {string} id */
export function titleFor(context, id) {
  const sessions = /** @type {Session[]} */ (context.store.get(path)?.value?.sessions ?? []);
  return String(sessions.find((session) => session.session_id === id)?.title || id);
}
