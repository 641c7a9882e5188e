// Groups the list of conversations: pinned, today, this week, earlier. Pure.

import { texts } from "../texts.js";

/**
 * @typedef {{session_id: string, channel: string, title?: string | null, updated_at: string, busy?: boolean,
 *   waiting?: number, unread?: boolean}} Listed
 */

/**
 * @param {Listed[]} sessions newest first within each group
 * @param {Set<string>} pinned names
 * @param {Date} now
 * @returns {{label: string, sessions: Listed[]}[]} the groups that are not empty
 */
export function grouped(sessions, pinned, now) {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const words = texts.sidebar;
  /** @type {Map<string, Listed[]>} */
  const groups = new Map([words.pinned, words.today, words.week, words.earlier].map((label) => [label, []]));
  const newestFirst = [...sessions].sort((one, other) => Date.parse(other.updated_at) - Date.parse(one.updated_at));
  for (const session of newestFirst) {
    const at = Date.parse(session.updated_at);
    const age = at >= midnight ? words.today : at >= midnight - 6 * 86400000 ? words.week : words.earlier;
    groups.get(pinned.has(nameOf(session)) ? words.pinned : age)?.push(session);
  }
  return [...groups]
    .map(([label, members]) => ({ label, sessions: members }))
    .filter((group) => group.sessions.length > 0);
}

/** @param {Pick<Listed, "session_id">} session */
export const nameOf = (session) => session.session_id.replace(/^webchat:/, "");

/** @param {Listed} session */
export function titleOf(session) {
  return session.title?.trim() || (nameOf(session) === "default" ? texts.sidebar.defaultTitle : texts.sidebar.untitled);
}

/**
 * Forgets conversations that were deleted while nothing was heard of them.
 * @param {Map<string, {updated_at?: string}>} known by their ids @param {Listed[]} list the newest ones @param {boolean} isWhole
 */
export function forgetGone(known, list, isWhole) {
  const there = new Set(list.map((session) => session.session_id));
  const oldest = isWhole ? "" : (list.at(-1)?.updated_at ?? "");
  for (const [id, { updated_at = "" }] of known)
    if (id.startsWith("webchat:") && !there.has(id) && updated_at >= oldest) known.delete(id);
}
