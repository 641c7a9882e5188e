// The column of a conversation: keeps the views of turns in order, scrolls along while the reader is at the end, and loads older
// messages when the reader approaches the beginning.

import { arrange, make } from "../shared/dom.js";
import { button, skeleton } from "../shared/controls.js";
import { texts } from "../texts.js";
import { TurnView } from "./turn-view.js";

/** @import { Turn } from "./types.js" */
/** @import { TurnActions } from "./turn-view.js" */

const nearEnd = 48;
const handMs = 500;
const markMs = 3000;
/** How far below the upper edge, which fades out, a message that was found stands. */
const clearOfEdge = 24;

export class Transcript {
  element = make("section", { class: "transcript", tabindex: "0", "aria-label": texts.turn.conversation });
  toEnd = button({ label: texts.turn.toEnd, icon: "down", look: "button-small to-end", press: () => this.goToEnd() });
  #column = make("div", { class: "turns" });
  #older = make("p", { class: "older" });
  /** @type {Map<string, TurnView>} */ #views = new Map();
  #actions;
  #isAtEnd = true;
  #hasNews = false;
  #hasOlder = false;
  #hasOlderFailed = false;
  #loadOlder;
  #beginning;
  #height = 0;
  /** @type {Element[]} */ #shown = [];
  #touchedAt = 0;
  /** Whether something other than a conversation is shown, which is read from the top. */ #isBlank = false;
  #note = "";

  /** @param {TurnActions} actions @param {() => Promise<boolean>} loadOlder */
  constructor(actions, loadOlder) {
    this.#actions = actions;
    this.#loadOlder = loadOlder;
    this.element.append(this.#column);
    this.toEnd.hidden = true;
    this.element.addEventListener("scroll", () => this.#look(), { passive: true });
    for (const event of ["wheel", "touchmove", "keydown", "pointerdown"]) {
      this.element.addEventListener(event, () => (this.#touchedAt = Date.now()), { passive: true });
    }
    new ResizeObserver(() => this.#follow()).observe(this.#column);
    new ResizeObserver(() => {
      this.#shareGutter();
      this.#follow();
    }).observe(this.element);
    this.#beginning = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && this.#fetchOlder(),
      {
        root: this.element,
        rootMargin: "900px 0px",
      },
    );
    this.#beginning.observe(this.#older);
  }

  /** Removes the conversation. */
  clear() {
    for (const view of this.#views.values()) view.close();
    this.#views.clear();
    this.#isAtEnd = true;
    this.#hasNews = false;
  }

  /** Shows something other than turns: a skeleton, an empty or an error state. @param {Element} element */
  showInstead(element) {
    this.#setBlank(true);
    arrange(this.#column, [element]);
    this.#shown = [];
    this.element.scrollTop = 0;
    this.#offerEnd();
  }

  /** Shows a note above the first message, such as why there are no older ones. @param {string} text */
  setNote(text) {
    this.#note = text;
  }

  /** @param {boolean} isBlank */
  #setBlank(isBlank) {
    this.#isBlank = isBlank;
    this.#column.classList.toggle("is-blank", isBlank);
  }

  showSkeleton() {
    this.#setBlank(false);
    arrange(this.#column, [skeleton(6), skeleton(6)]);
    this.#shown = [];
  }

  /** @param {Turn[]} turns @param {boolean} hasOlder */
  show(turns, hasOlder) {
    this.#setBlank(false);
    const elements = [];
    const keys = new Set();
    let unfinished = 0;
    for (const turn of turns) {
      keys.add(turn.key);
      let view = this.#views.get(turn.key);
      if (!view) {
        view = new TurnView(turn, this.#actions);
        this.#views.set(turn.key, view);
      }
      view.update(turn, unfinished);
      if (turn.state !== "done") unfinished += 1;
      elements.push(view.element);
    }
    for (const [key, view] of this.#views) {
      if (keys.has(key)) continue;
      view.close();
      this.#views.delete(key);
    }
    this.#hasOlder = hasOlder;
    this.#older.hidden = !hasOlder && !this.#note;
    this.#older.textContent = this.#note;
    const wanted = [this.#older, ...elements];
    const isArranged =
      wanted.length === this.#column.childElementCount &&
      wanted.every((element, index) => element === this.#shown[index]);
    if (!isArranged) arrange(this.#column, wanted);
    this.#shown = wanted;
    if (!this.#isAtEnd && unfinished > 0) this.#hasNews = true;
    this.#follow();
  }

  /** @param {Turn} turn */
  view(turn) {
    return this.#views.get(turn.key);
  }

  /** Brings an exchange to the top of the view and marks it for a moment. @param {Turn} turn */
  goTo(turn) {
    const element = this.#views.get(turn.key)?.element;
    if (!element) return;
    this.#isAtEnd = false;
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    element.dataset.found = "";
    setTimeout(() => delete element.dataset.found, markMs);
    const scroll = () => {
      this.#touchedAt = Date.now();
      // Not by `scrollIntoView`, which would scroll the page around the conversation too.
      const above = element.getBoundingClientRect().top - this.element.getBoundingClientRect().top;
      this.element.scrollTop += above - clearOfEdge;
    };
    scroll();
    // What comes into view for the first time takes its true height only then.
    requestAnimationFrame(scroll);
  }

  goToEnd() {
    this.#isAtEnd = true;
    this.#hasNews = false;
    this.#follow();
  }

  /** Takes the focus without scrolling. */
  focus() {
    this.element.focus({ preventScroll: true });
  }

  /** Whether a message is being edited, which must then stay in sight. */
  get #isEditing() {
    return Boolean(document.activeElement?.closest(".edit-box"));
  }

  /** Gives the box below the same gutters as the scroll bar takes here, so that their edges align. */
  #shareGutter() {
    const { offsetWidth, clientWidth, parentElement } = this.element;
    parentElement?.style.setProperty("--gutter", `${offsetWidth - clientWidth}px`);
  }

  #look() {
    if (this.#isBlank) return;
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    const hasMoved = this.#isEditing || scrollHeight === this.#height || Date.now() - this.#touchedAt < handMs;
    this.#height = scrollHeight;
    if (this.#isAtEnd && !hasMoved) {
      // The column changed its height; the reader did not scroll.
      this.#follow();
      return;
    }
    this.#isAtEnd = scrollHeight - scrollTop - clientHeight < nearEnd;
    if (this.#isAtEnd) this.#hasNews = false;
    this.#offerEnd();
  }

  #follow() {
    if (this.#isAtEnd && !this.#isEditing && !this.#isBlank) {
      this.#height = this.element.scrollHeight;
      this.element.scrollTop = this.#height;
    }
    this.#offerEnd();
  }

  #offerEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    const isFar = scrollHeight - scrollTop - clientHeight > clientHeight;
    const isOffered = !this.#isBlank && !this.#isAtEnd && (this.#hasNews || isFar);
    if (!isOffered && document.activeElement === this.toEnd) this.focus();
    this.toEnd.hidden = !isOffered;
    const words = /** @type {Element} */ (this.toEnd.lastElementChild);
    const label = this.#hasNews ? texts.turn.toEnd : texts.turn.down;
    if (words.textContent !== label) words.textContent = label;
  }

  async #fetchOlder() {
    if (!this.#hasOlder) return;
    this.#older.textContent = texts.turn.older;
    const first = this.#older.nextElementSibling;
    const place = first?.getBoundingClientRect().top ?? 0;
    try {
      if (!(await this.#loadOlder())) return;
    } catch {
      this.#older.textContent = texts.turn.olderFailed;
      this.#hasOlderFailed = true;
      return;
    }
    // Keeps the text in view where it is although the column grew above it.
    if (first) this.element.scrollTop += first.getBoundingClientRect().top - place;
    // The page that was loaded may have been short.
    this.#lookAtBeginning();
  }

  /** Requests older messages again after the server was away, if the reader is still near the beginning. */
  retryOlder() {
    if (!this.#hasOlderFailed) return;
    this.#hasOlderFailed = false;
    this.#lookAtBeginning();
  }

  /** Makes the observer report again whether the beginning is near. */
  #lookAtBeginning() {
    this.#beginning.unobserve(this.#older);
    this.#beginning.observe(this.#older);
  }
}
