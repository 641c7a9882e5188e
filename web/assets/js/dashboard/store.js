// The panels' data: requested from the JSON API, cached with its age, and reported to watchers.

import { Problem, request } from "../shared/api.js";
import { signInAgain } from "./denied.js";

/** @import { Path } from "../shared/api.js" */

/**
 * An answer; `value` is undefined if there was none yet.
 * @template [Answer=unknown]
 * @typedef {{value: Answer | undefined, problem: Problem | null, at: number}} Held
 */

/** The number of unwatched answers kept. */
const MOST = 60;

export class Store extends EventTarget {
  /** @type {Map<string, Held>} */ #held = new Map();
  /** @type {Map<string, ReturnType<typeof setTimeout>>} */ #planned = new Map();
  /**
   * The request of each path whose answer is held: an answer that arrives after a younger one is discarded.
   * @type {Map<string, number>}
   */
  #answered = new Map();
  #number = 0;

  /** @template [Answer=unknown] @param {Path<Answer>} path @returns {Held<Answer> | undefined} */
  get(path) {
    return /** @type {Held<Answer> | undefined} */ (this.#held.get(path));
  }

  /** Requests a path now. @param {string} path @param {boolean} [isAgain] after a sign-in */
  async load(path, isAgain = false) {
    const before = this.#held.get(path);
    this.#number += 1;
    const number = this.#number;
    /** @type {Held} */ let held;
    try {
      held = { value: await request(path), problem: null, at: Date.now() };
      // An unchanged answer keeps its identity, so that views need not update.
      if (before?.value !== undefined && JSON.stringify(before.value) === JSON.stringify(held.value))
        held.value = before.value;
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 401)
        void signInAgain().then(() => (isAgain ? undefined : this.load(path, true)));
      held = { value: before?.value, problem: /** @type {Problem} */ (problem), at: before?.at ?? 0 };
    }
    // Not those that a younger request will outdo: who asks again and again would never have an answer.
    if (number < (this.#answered.get(path) ?? 0)) return;
    this.#answered.set(path, number);
    this.#held.delete(path);
    this.#held.set(path, held);
    for (const old of this.#held.keys()) if (this.#held.size > MOST) this.#held.delete(old);
    this.tell(path);
  }

  /** Requests a path soon, combining calls. @param {string} path */
  soon(path) {
    if (this.#planned.has(path)) return;
    const timer = setTimeout(() => {
      this.#planned.delete(path);
      void this.load(path);
    }, 400);
    this.#planned.set(path, timer);
  }

  /** Drops an answer, such as that of a deleted item. @param {string} path */
  forget(path) {
    this.#held.delete(path);
  }

  /**
   * Calls `change` whenever the path has a new answer, until the signal is aborted.
   * @param {string} path
   * @param {() => void} change
   * @param {AbortSignal} signal
   */
  watch(path, change, signal) {
    this.addEventListener("change", (event) => /** @type {CustomEvent} */ (event).detail === path && change(), {
      signal,
    });
  }

  /** @param {string} [path] */
  tell(path) {
    this.dispatchEvent(new CustomEvent("change", { detail: path }));
  }
}
