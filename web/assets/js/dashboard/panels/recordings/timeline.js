// Timeline arithmetic: the positions of events, and the state at each. No page.

/** @import { Block, Message } from "../../../wire/api.js" */

/** @typedef {import("../../../wire/api.js").RecordedEvent} RecordedEvent */
/** @typedef {import("../../../wire/api.js").Snapshot} Snapshot */

/** The fields of what another program wrote; none if it is no object. @param {unknown} value */
const fieldsOf = (value) =>
  typeof value === "object" && value !== null ? /** @type {Record<string, unknown>} */ (value) : {};

export const layers = /** @type {const} */ (["agent", "tool", "sys"]);

/**
 * Positions of times between 0 and 1. Gaps are scaled logarithmically, so that a night between two turns does not squeeze the
 * turns together.
 * @param {string[]} times in order
 * @returns {number[]}
 */
export function spread(times) {
  let at = 0;
  const places = times.map((time, index) => {
    const gap = index === 0 ? 0 : Date.parse(time) - Date.parse(times[index - 1]);
    at += Math.log1p(Math.max(0, Number.isFinite(gap) ? gap : 0) / 150) + (index === 0 ? 0 : 0.05);
    return at;
  });
  return places.map((place) => (at > 0 ? place / at : 0));
}

/** The position of a time among events at `places`. @param {string | null} time @param {RecordedEvent[]} events @param {number[]} places */
export function placeOf(time, events, places) {
  if (!time || events.length === 0) return 1;
  const moment = Date.parse(time);
  const next = events.findIndex(({ ts }) => Date.parse(ts) > moment);
  return next < 0 ? 1 : next === 0 ? 0 : (places[next - 1] + places[next]) / 2;
}

/**
 * The newest snapshot taken up to an event.
 * @param {Snapshot[]} snapshots
 * @param {RecordedEvent | undefined} event
 * @returns {Snapshot | undefined}
 */
export function snapshotAt(snapshots, event) {
  // A foreign recording may lack the times of its snapshots.
  if (!event || snapshots.every(({ ts }) => ts === null)) return snapshots.at(-1);
  const moment = Date.parse(event.ts);
  return snapshots.filter(({ ts }) => ts !== null && Date.parse(ts) <= moment).at(-1);
}

/** The index of the nearest event. @param {number[]} places @param {number} place */
export function nearest(places, place) {
  let best = 0;
  places.forEach((at, index) => {
    if (Math.abs(at - place) < Math.abs(places[best] - place)) best = index;
  });
  return best;
}

/** @param {RecordedEvent} event */
export function isTrouble({ type, data }) {
  const { is_error: isError, denied, status, end } = fieldsOf(data);
  return (
    /error|fail|denied|denial|refus/i.test(type) ||
    isError === true ||
    denied === true ||
    /^(error|denied|failed)$/.test(String(status ?? end ?? ""))
  );
}

/** The names of tools, in whatever form they were given to the model. @param {unknown[]} tools @returns {string[]} */
export const toolNames = (tools) =>
  tools.map((tool) => String(fieldsOf(tool).name ?? fieldsOf(fieldsOf(tool).function).name ?? tool)).sort();

/** The most informative part of an event in one line. @param {unknown} data */
export function briefly(data) {
  if (data === null || data === undefined) return "";
  if (typeof data !== "object") return String(data);
  const fields = fieldsOf(data);
  const telling = ["text", "message", "name", "tool", "code", "model", "reason", "end", "state"]
    .map((name) => fields[name])
    .filter((value) => typeof value === "string" && value !== "");
  const rest = fields.input && typeof fields.input === "object" ? JSON.stringify(fields.input) : "";
  const text = [...telling, rest].filter(Boolean).join(" · ");
  return (text || JSON.stringify(data)).replace(/\s+/g, " ").slice(0, 240);
}

/** A message's blocks; plain text counts as one block. @param {Message & {text?: string}} message @returns {Block[]} */
export function blocksOf(message) {
  const content = message?.content ?? message?.text ?? "";
  if (Array.isArray(content)) return content;
  return [{ type: "text", text: String(content) }];
}
