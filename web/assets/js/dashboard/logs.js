// The newest log records, as a table, with a choice of the lowest level shown.

import { badge } from "../shared/controls.js";
import { arrange, make } from "../shared/dom.js";
import { timeElement } from "../shared/time.js";
import { visible } from "../shared/visible.js";
import { texts } from "../texts.js";
import { loaded, place } from "./pieces.js";

/** @import { View } from "./pieces.js" */
/** @import { Store } from "./store.js" */

let level = "info";

/** @param {number} limit */
export const logsPath = (limit) => `/api/logs?level=${level}&limit=${limit}`;

/**
 * A table that lasts while lines come in at its top, so that a line can be read, marked and copied.
 * @param {Store} store @param {number} limit @returns {View}
 */
export function logView(store, limit) {
  const element = make("div", {});
  const head = make("tr", {}, ...texts.dashboard.logColumns.map((title) => make("th", { scope: "col" }, title)));
  const lines = make("tbody", {});
  const table = make("table", { class: "log-table" }, make("thead", {}, head), lines);
  const box = make("div", { class: "log-box", role: "group", tabindex: "0", "aria-label": texts.dashboard.logs }, table);
  /** @type {Map<string, HTMLElement>} */
  let rows = new Map();
  const show = (/** @type {any[]} */ records) => {
    const before = rows;
    rows = new Map();
    for (const record of newestFirst(records).slice(0, limit)) {
      let key = JSON.stringify(record);
      // The same may have happened twice in one moment.
      while (rows.has(key)) key += "+";
      rows.set(key, before.get(key) ?? row(record));
    }
    arrange(lines, [...rows.values()]);
    return box;
  };
  const update = () =>
    place(element, loaded(store, logsPath(limit), texts.dashboard.logsFailed, ({ records = [] }) => (records.length > 0 ? show(records) : make("p", { class: "quiet" }, texts.dashboard.noLogs))));
  return { element, update };
}

/** @param {Store} store @param {number} limit */
export function levelChoice(store, limit) {
  const options = Object.entries(texts.dashboard.levels).map(([value, label]) => make("option", { value, selected: value === level }, label));
  const select = make("select", { class: "input", id: "log-level" }, ...options);
  select.addEventListener("change", () => {
    level = select.value;
    void store.load(logsPath(limit));
  });
  return make("div", { class: "filters" }, make("label", { for: "log-level" }, texts.dashboard.level), select);
}

const tones = /** @type {Record<string, "bad" | "warn" | "">} */ ({ error: "bad", warn: "warn" });

/** @param {any} record */
function row({ ts, level: severity, target, message, fields }) {
  const word = String(severity ?? "").toLowerCase();
  const extra = Object.entries(fields ?? {}).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return make(
    "tr",
    {},
    make("td", {}, timeElement(ts)),
    make("td", {}, badge(word, tones[word] ?? "", word === "error" || word === "warn" ? "alert" : "")),
    make("td", { class: "log-target mono" }, ...visible(String(target ?? ""))),
    make("td", {}, ...visible(String(message ?? "")), extra.length > 0 && make("span", { class: "log-fields mono" }, ...visible(extra.join("  ")))),
  );
}

/** @param {any[]} records */
function newestFirst(records) {
  return [...records].sort((one, other) => Date.parse(other.ts) - Date.parse(one.ts));
}
