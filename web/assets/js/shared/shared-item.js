// Something that others may change as well: what was read of it, the version that was read, and changes that the server refuses
// when it is no longer that version. Without versions (an older server) the last writer wins, as it always did.

import { Problem } from "./api.js";

/** @import { Path } from "./api.js" */

/**
 * @typedef {{method?: string, body?: unknown, headers?: Record<string, string>, query?: string}} Change
 * @typedef {<Data = unknown>(path: Path<Data>, options?: Change) => Promise<Answer<Data>>} Exchange
 * @typedef {"mine" | "theirs" | "stay"} Choice
 */

/**
 * @template [Data=unknown]
 * @typedef {{data: Data, etag: string}} Answer
 */

/**
 * `isSame`: whether what stands there now has nothing that this change would overwrite unseen; `ask` is called if it has, with null
 * if it was deleted.
 * @template [Data=unknown]
 * @typedef {{isSame: (present: Data) => boolean, ask: (present: Data | null) => Promise<Choice>}} Judges
 */

/**
 * What became of a change: what it made, or what was deleted. If it was not saved, `data` is what stands there now, or null.
 * @template [Data=unknown]
 * @typedef {{outcome: "saved", data: Data} | {outcome: Choice, data: Data | null}} Outcome
 */

/** How often a change is sent again unasked, when only what it does not touch has changed. */
const MOST = 4;

/** @template [Data=unknown] */
export class SharedItem {
  #exchange;
  #path;
  #readPath;
  #etag = "";
  #isNew = false;
  /** The value last read; null if there is none. @type {Data | null} */ value = null;

  /** @param {Exchange} exchange @param {Path<Data>} path @param {Path<Data>} [readPath] where it is read, if that is another address */
  constructor(exchange, path, readPath = path) {
    this.#exchange = exchange;
    this.#path = path;
    this.#readPath = readPath;
  }

  /** The value last read, for who has read it. @returns {Data} */
  get known() {
    if (this.value === null) throw new TypeError("nothing was read yet");
    return this.value;
  }

  /** Reads it. */
  async read() {
    const answer = await this.#exchange(this.#readPath);
    this.take(answer);
    return answer.data;
  }

  /** Records an answer as the state last read. @param {Answer<Data>} answer */
  take({ data, etag }) {
    this.#hold(data, etag);
  }

  /** @param {Data | null} data @param {string} etag */
  #hold(data, etag) {
    this.value = data;
    this.#etag = etag;
    this.#isNew = data === null;
  }

  /** Records that there is no item: sending must then not replace one. */
  takeNone() {
    this.#hold(null, "");
  }

  /** Reads it again without recording the answer as read; null if it is gone. @returns {Promise<Answer<Data> | null>} */
  async peek() {
    try {
      return await this.#exchange(this.#readPath);
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 404) return null;
      throw problem;
    }
  }

  /** Whether an answer is another version than the one last read. @param {Answer<Data>} answer */
  isOther({ data, etag }) {
    return etag && this.#etag ? etag !== this.#etag : JSON.stringify(data) !== JSON.stringify(this.value);
  }

  /**
   * Sends a change of the item last read. If it was changed elsewhere, asks which version counts; nothing is overwritten
   * unasked.
   * @param {Change} change @param {Judges<Data>} judges @returns {Promise<Outcome<Data>>}
   */
  async send({ query = "", ...change }, { isSame, ask }) {
    for (let round = 0; ;) {
      try {
        /** @type {Record<string, string>} */
        const match = this.#etag ? { "If-Match": this.#etag } : this.#isNew ? { "If-None-Match": "*" } : {};
        /** @type {Path<Data>} */
        const path = this.#path + query;
        const answer = await this.#exchange(path, { ...change, headers: { ...change.headers, ...match } });
        // A deletion answers with something else.
        if (change.method !== "DELETE") this.take(answer);
        return { outcome: "saved", data: this.known };
      } catch (problem) {
        const present = await this.#presently(problem);
        if (!present) throw problem;
        const { data, etag } = present;
        if (data && isSame(data)) {
          round += 1;
          if (round > MOST) throw problem;
          this.#etag = etag;
          continue;
        }
        const choice = await ask(data);
        if (choice === "stay") return { outcome: choice, data };
        if (data) this.#hold(data, etag);
        if (choice === "theirs" || !data) return { outcome: choice, data };
      }
    }
  }

  /** What stands there now, if that is why the change was refused. @param {unknown} problem @returns {Promise<Answer<Data | null> | null>} */
  async #presently(problem) {
    if (!(problem instanceof Problem)) return null;
    if (problem.status === 404) return { data: null, etag: "" };
    if (problem.status !== 412 && problem.code !== "changed_elsewhere") return null;
    const { current } = problem.document ?? {};
    if (current && problem.etag) return { data: /** @type {Data} */ (current), etag: problem.etag };
    return (await this.peek()) ?? { data: null, etag: "" };
  }
}
