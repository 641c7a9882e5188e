// The titles of conversations, for places that know only their ids. Conversations that are no longer listed are shown by id.

/** @import { Context } from "../../context.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { SessionList } from "../../../wire/api.js" */

/** @type {Path<SessionList>} */ const path = "/api/sessions?limit=500";

/**
 * Requests the titles, and calls `changed` when they arrive.
 * @param {Context} context @param {() => void} [changed]
 */
export function loadTitles(context, changed) {
  if (changed) context.store.watch(path, changed, context.signal);
  void context.store.load(path);
}

/** The title of a conversation; nothing for a recording that names none. @param {Context} context @param {string | null} id */
export function titleFor(context, id) {
  if (!id) return "";
  const sessions = context.store.get(path)?.value?.sessions ?? [];
  return sessions.find((session) => session.session_id === id)?.title || id;
}
