// The turns of the live monitor: its entries grouped by what a person asked for, with the time that each call took of the whole. No
// page.

/** @import { Entry } from "./entries.js" */

/**
 * A part of a turn. `from` and `to` are shares of its time.
 * @typedef {{name: string, state: string, ms: number | null, from: number, to: number}} Span
 * @typedef {{key: string, at: string, session: string, channel: string, asked: string, isOwn: boolean, reply: string, state: string,
 *   ms: number | null, spans: Span[]}} Turn
 */

/** A call that took no time is still seen. */
const least = 0.012;

/**
 * Groups entries, which come newest first, into turns, newest first. What belongs to no turn is left out.
 * @param {Entry[]} entries @returns {Turn[]}
 */
export function turnsOf(entries) {
  /** @type {Map<string, Entry[]>} */ const groups = new Map();
  for (const entry of entries) {
    if (!entry.turn || !entry.session) continue;
    const key = `${entry.session} ${entry.turn}`;
    const group = groups.get(key);
    if (group) group.push(entry);
    else groups.set(key, [entry]);
  }
  return [...groups].map(([key, group]) => turnOf(key, group.reverse()));
}

/** @param {string} key @param {Entry[]} entries oldest first @returns {Turn} */
function turnOf(key, entries) {
  const [first] = entries;
  const asked = entries.find(({ kind }) => kind === "message" || kind === "prompt");
  const reply = entries.findLast(({ kind }) => kind === "reply");
  const calls = entries.filter(({ kind }) => kind === "tool");
  const start = Date.parse(first.at);
  const end = Math.max(...entries.map(({ at, ms }) => Date.parse(at) + (ms ?? 0)));
  const whole = end - start;
  const state = stateOf(entries, reply);
  return {
    key,
    at: first.at,
    session: first.session,
    channel: first.channel,
    asked: asked?.title || asked?.detail || first.title,
    isOwn: asked?.kind === "prompt",
    reply: reply?.title ?? "",
    state,
    ms: state === "running" || state === "waiting" ? null : whole,
    spans: calls.map(({ at, title, state, ms }) => {
      const from = whole > 0 ? clamp((Date.parse(at) - start) / whole) : 0;
      const to = whole > 0 ? clamp((Date.parse(at) + (ms ?? 0) - start) / whole) : 1;
      return { name: title, state, ms, from: Math.min(from, 1 - least), to: Math.max(to, Math.min(from, 1 - least) + least) };
    }),
  };
}

/**
 * What needs the owner, then what goes on, then how it ended.
 * @param {Entry[]} entries @param {Entry | undefined} reply
 */
function stateOf(entries, reply) {
  const last = entries.at(-1);
  if (entries.some(({ kind, state }) => kind === "approval" && state === "waiting")) return "waiting";
  if (entries.some(({ kind, state }) => kind === "tool" && state === "running")) return "running";
  if (last?.kind === "problem") return "error";
  return last?.isEnd || (reply && last && reply.at >= last.at) ? "ok" : "running";
}

/** @param {number} share */
const clamp = (share) => Math.max(0, Math.min(1, share));
