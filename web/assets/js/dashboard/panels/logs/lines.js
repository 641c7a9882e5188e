// The panel's log lines: newest first, deduplicated, bounded, searchable by target and words. No page.

/** @import { LogRecord } from "../../../wire/api.js" */

/**
 * @typedef {{key: string, at: string, level: string, target: string, message: string, fields: Record<string, unknown>,
 *   missed?: number}} Line
 */

export const levels = ["trace", "debug", "info", "warn", "error"];
const most = 10000;

export class LogLines {
  /** @type {Line[]} Newest first. */ lines = [];
  #seen = new Map();
  #number = 0;

  /** Merges the records of an answer, newest first, with those received live before. @param {LogRecord[]} records */
  reset(records) {
    this.lines = [];
    this.#seen.clear();
    for (const record of [...records].reverse()) this.add(record);
  }

  /** Adds a record that was just logged. @param {LogRecord} record */
  add(record) {
    this.lines.unshift(lineOf(record, this.#fresh(JSON.stringify(record))));
    this.#bound();
  }

  /** Records a gap. @param {number} missed @param {string} at */
  gap(missed, at) {
    this.lines.unshift({ key: this.#fresh("gap"), at, level: "warn", target: "", message: "", fields: {}, missed });
    this.#bound();
  }

  /** @param {{level: string, target: string, text: string}} wanted */
  matching({ level, target, text }) {
    const least = levels.indexOf(level);
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return this.lines.filter((line) => {
      if (line.missed) return true;
      if (levels.indexOf(line.level) < least) return false;
      if (target && line.target !== target && !line.target.startsWith(`${target}::`)) return false;
      return words.length === 0 || has(line, words);
    });
  }

  /** The targets that occur, shortest first. */
  targets() {
    return [...new Set(this.lines.map(({ target }) => target.split("::").slice(0, 2).join("::")))]
      .filter(Boolean)
      .sort();
  }

  /** A unique key, because identical records may be logged at the same time. @param {string} base */
  #fresh(base) {
    this.#number += 1;
    const times = (this.#seen.get(base) ?? 0) + 1;
    this.#seen.set(base, times);
    return `${base}#${times}`;
  }

  #bound() {
    if (this.lines.length <= most) return;
    this.lines.length = most;
    if (this.#seen.size > most * 2) this.#seen.clear();
  }
}

/** @param {LogRecord} record @param {string} key @returns {Line} */
function lineOf({ ts, time, level, target, message, fields }, key) {
  return {
    key,
    at: String(ts ?? time ?? ""),
    level: String(level ?? "info").toLowerCase(),
    target: String(target ?? ""),
    message: String(message ?? ""),
    fields: fields && typeof fields === "object" ? fields : {},
  };
}

/** @param {Line} line @param {string[]} words */
function has(line, words) {
  const text = `${line.target} ${line.message} ${extras(line.fields)}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Fields as one line. @param {Record<string, unknown>} fields */
export const extras = (fields) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("  ");
