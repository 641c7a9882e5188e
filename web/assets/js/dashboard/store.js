// What the panels show: asked for from the JSON API, kept with its age, and told to whoever watches.

import { Problem, request } from "../shared/api.js";

/** @typedef {{value: any, problem: Problem | null, at: number}} Held */

export class Store extends EventTarget {
  /** @type {Map<string, Held>} */ #held = new Map();
  /** @type {Map<string, ReturnType<typeof setTimeout>>} */ #planned = new Map();
  counts = { sessions: 0, messages: 0 };

  /** @param {string} path @returns {Held | undefined} */
  get(path) {
    return this.#held.get(path);
  }

  /** Asks now. @param {string} path */
  async load(path) {
    const before = this.#held.get(path);
    try {
      this.#held.set(path, { value: await request(path), problem: null, at: Date.now() });
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 401) location.reload();
      this.#held.set(path, { value: before?.value, problem: /** @type {Problem} */ (problem), at: before?.at ?? 0 });
    }
    this.tell();
  }

  /** Asks soon, once for many calls. @param {string} path */
  soon(path) {
    if (this.#planned.has(path)) return;
    const timer = setTimeout(() => {
      this.#planned.delete(path);
      void this.load(path);
    }, 400);
    this.#planned.set(path, timer);
  }

  tell() {
    this.dispatchEvent(new Event("change"));
  }
}
