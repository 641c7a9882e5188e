// Which conversations stand under "Unread". One that was opened there stays until the pointer and the focus of the keyboard have left
// the list: it must not jump away from under them.

import { nameOf } from "./grouping.js";

/** @import { Listed } from "./grouping.js" */

export class UnreadGroup {
  #list;
  #left;
  #isPointed = false;
  /** Whether something stands here that is not unread any more. */ #isKept = false;
  /** @type {Set<string>} The names of those that stood here when the list was last drawn. */ #stood = new Set();

  /** @param {HTMLElement} list @param {() => void} left called when what was kept for the pointer or the focus may go */
  constructor(list, left) {
    this.#list = list;
    this.#left = left;
    list.addEventListener("pointerenter", () => (this.#isPointed = true));
    list.addEventListener("pointerleave", () => {
      this.#isPointed = false;
      this.#leave();
    });
    list.addEventListener("focusout", () => this.#leave());
  }

  /**
   * The conversations that stand here in the next drawing.
   * @param {Listed[]} sessions @param {(session: Listed) => boolean} isUnread
   * @returns {Set<Listed>}
   */
  of(sessions, isUnread) {
    // A row that was pressed with the pointer keeps the focus, and no one sees it.
    const isHeld = this.#isPointed || this.#list.querySelector(":focus-visible") !== null;
    const unread = sessions.filter(isUnread);
    const kept = isHeld ? sessions.filter((session) => this.#stood.has(nameOf(session)) && !isUnread(session)) : [];
    const all = new Set([...unread, ...kept]);
    this.#isKept = kept.length > 0;
    this.#stood = new Set([...all].map(nameOf));
    return all;
  }

  #leave() {
    if (this.#isKept) this.#left();
  }
}
