// Something that others may change as well: what was read of it, the version that was read, and changes that the server refuses
// when it is no longer that version. Without versions (an older server) the last writer wins, as it always did.

import { Problem } from "./api.js";

/**
 * @typedef {{data: any, etag: string}} Answer
 * @typedef {{method?: string, body?: unknown, headers?: Record<string, string>, query?: string}} Change
 * @typedef {(path: string, options?: Change) => Promise<Answer>} Exchange
 * @typedef {"mine" | "theirs" | "stay"} Choice
 * @typedef {{isSame: (present: any) => boolean, ask: (present: any) => Promise<Choice>}} Judges `isSame`: whether what stands
 *   there now has nothing that this change would overwrite unseen; `ask` is called if it has, with null if it was deleted
 * @typedef {{outcome: "saved" | Choice, data: any}} Outcome
 */

/** How often a change is sent again unasked, when only what it does not touch has changed. */
const MOST = 4;

export class SharedItem {
  #exchange;
  #path;
  #readPath;
  #etag = "";
  #isNew = false;
  /** The value last read. @type {any} */ value = null;

  /** @param {Exchange} exchange @param {string} path @param {string} [readPath] where it is read, if that is another address */
  constructor(exchange, path, readPath = path) {
    this.#exchange = exchange;
    this.#path = path;
    this.#readPath = readPath;
  }

  /** Reads it. */
  async read() {
    this.take(await this.#exchange(this.#readPath));
    return this.value;
  }

  /** Records an answer as the state last read. @param {Answer} answer */
  take({ data, etag }) {
    this.value = data;
    this.#etag = etag;
    this.#isNew = false;
  }

  /** Records that there is no item: sending must then not replace one. */
  takeNone() {
    this.take({ data: null, etag: "" });
    this.#isNew = true;
  }

  /** Reads it again without recording the answer as read; null if it is gone. @returns {Promise<Answer | null>} */
  async peek() {
    try {
      return await this.#exchange(this.#readPath);
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 404) return null;
      throw problem;
    }
  }

  /** Whether an answer is another version than the one last read. @param {Answer} answer */
  isOther({ data, etag }) {
    return etag && this.#etag ? etag !== this.#etag : JSON.stringify(data) !== JSON.stringify(this.value);
  }

  /**
   * Sends a change of the item last read. If it was changed elsewhere, asks which version counts; nothing is overwritten
   * unasked.
   * @param {Change} change @param {Judges} judges @returns {Promise<Outcome>}
   */
  async send({ query = "", ...change }, { isSame, ask }) {
    for (let round = 0; ;) {
      try {
        /** @type {Record<string, string>} */
        const match = this.#etag ? { "If-Match": this.#etag } : this.#isNew ? { "If-None-Match": "*" } : {};
        const answer = await this.#exchange(this.#path + query, { ...change, headers: { ...change.headers, ...match } });
        this.take(answer);
        return { outcome: "saved", data: answer.data };
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
        if (data) this.take(present);
        if (choice === "theirs" || !data) return { outcome: choice, data };
      }
    }
  }

  /** What stands there now, if that is why the change was refused. @param {unknown} problem @returns {Promise<Answer | null>} */
  async #presently(problem) {
    if (!(problem instanceof Problem)) return null;
    if (problem.status === 404) return { data: null, etag: "" };
    if (problem.status !== 412 && problem.code !== "changed_elsewhere") return null;
    const { current } = problem.document ?? {};
    if (current && problem.etag) return { data: current, etag: problem.etag };
    return (await this.peek()) ?? { data: null, etag: "" };
  }
}
