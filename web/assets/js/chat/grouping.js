// Groups the list of conversations: pinned, unread, by folder, and by age. Pure.

import { texts } from "../texts.js";
import { newsWords } from "../texts/news.js";

/**
 * @typedef {{session_id: string, channel: string, title?: string | null, updated_at: string, busy?: boolean,
 *   waiting?: number, unread?: boolean,
 *   pinned?: boolean, archived?: boolean, folder?: string | null}} Listed
 */

const dayMs = 86400000;

/**
 * @param {Listed[]} sessions
 * @param {Date} now
 * @param {boolean} [withArchived] whether those that are archived have their place among the others
 * @param {Set<Listed>} [unread] those that stand in a group of their own, unless they are pinned
 * @returns {{label: string, key: string, sessions: Listed[]}[]} the groups that are not empty, the newest conversations of each first
 */
export function grouped(sessions, now, withArchived = false, unread = new Set()) {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  // A day of the clock change has 23 or 25 hours.
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1).getTime();
  const words = texts.sidebar;
  // A folder may be called like an age.
  const folder = (/** @type {string} */ name) => ({ label: name, key: `folder:${name}` });
  const own = (/** @type {string} */ label) => ({ label, key: label });
  const ages = [words.today, words.yesterday, words.week, words.earlier].map(own);
  const all = [own(words.pinned), own(newsWords.unread), ...foldersOf(sessions).map(folder), ...ages];
  /** @type {Map<string, {label: string, key: string, sessions: Listed[]}>} */
  const groups = new Map(all.map((group) => [group.key, { ...group, sessions: [] }]));
  const shown = sessions.filter((session) => withArchived || !session.archived);
  for (const session of newestFirst(shown)) {
    const at = Date.parse(session.updated_at);
    const age =
      at >= midnight ? words.today : at >= yesterday ? words.yesterday : at >= midnight - 6 * dayMs ? words.week : words.earlier;
    const place = unread.has(session) ? newsWords.unread : session.folder ? `folder:${session.folder}` : age;
    groups.get(session.pinned ? words.pinned : place)?.sessions.push(session);
  }
  return [...groups.values()].filter((group) => group.sessions.length > 0);
}

/** Those that are archived. @param {Listed[]} sessions */
export const archivedOf = (sessions) => newestFirst(sessions.filter(({ archived }) => archived));

/** The folders in use, by name. @param {Listed[]} sessions @returns {string[]} */
export function foldersOf(sessions) {
  const names = new Set(sessions.map(({ folder }) => folder ?? "").filter(Boolean));
  return [...names].sort((one, other) => one.localeCompare(other));
}

/** @param {Listed[]} sessions */
const newestFirst = (sessions) => [...sessions].sort((one, other) => Date.parse(other.updated_at) - Date.parse(one.updated_at));

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
