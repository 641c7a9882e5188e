// The view of a conversation: scrolls along while the reader is at the end, and loads older messages when the reader approaches the
// beginning. Its column draws the exchanges.

import { make } from "../shared/dom.js";
import { button, skeleton } from "../shared/controls.js";
import { texts } from "../texts.js";
import { TurnColumn } from "./turn-column.js";

/** @import { Turn } from "./types.js" */
/** @import { TurnActions } from "./turn-view.js" */

const nearEnd = 48;
const handMs = 500;
/** For how long after a touch or a key the view may still be moving by it. */
const glideMs = 4000;
const markMs = 3000;
/** How far below the upper edge, which fades out, a message that was found stands. */
const clearOfEdge = 24;

export class Transcript {
  element = make("section", { class: "transcript", tabindex: "0", "aria-label": texts.turn.conversation });
  toEnd = button({ label: texts.turn.toEnd, icon: "down", look: "button-small to-end", press: () => this.goToEnd() });
  #older = make("p", { class: "older" });
  #column;
  /** @type {Turn[]} */ #turns = [];
  #isAtEnd = true;
  #isColumnPlanned = false;
  #hasNews = false;
  #hasOlder = false;
  #hasOlderFailed = false;
  #loadOlder;
  #beginning;
  #height = 0;
  #touchedAt = 0;
  /** When the reader did anything on the page. */ #inputAt = -glideMs;
  /** Where the view was last. */ #top = 0;
  /** Whether something other than a conversation is shown, which is read from the top. */ #isBlank = false;
  #note = "";

  /** @param {TurnActions} actions @param {() => Promise<boolean>} loadOlder */
  constructor(actions, loadOlder) {
    this.#column = new TurnColumn(this.element, actions, this.#older, () => this.show(this.#turns, this.#hasOlder));
    this.#loadOlder = loadOlder;
    this.element.append(this.#column.element);
    this.toEnd.hidden = true;
    this.element.addEventListener("scroll", () => this.#look(), { passive: true });
    this.element.addEventListener("scroll", () => this.#planColumn(), { passive: true });
    for (const event of ["wheel", "touchmove", "keydown", "pointerdown"]) {
      this.element.addEventListener(event, () => (this.#touchedAt = Date.now()), { passive: true });
    }
    for (const event of ["wheel", "touchstart", "touchmove", "keydown", "pointerdown", "pointermove"]) {
      addEventListener(event, () => (this.#inputAt = Date.now()), { passive: true, capture: true });
    }
    new ResizeObserver(() => this.#follow()).observe(this.#column.element);
    new ResizeObserver(() => {
      this.#shareGutter();
      this.#follow();
      this.#planColumn();
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
    this.#column.clear();
    this.#isAtEnd = true;
    this.#hasNews = false;
  }

  /** Shows something other than turns: a skeleton, an empty or an error state. @param {Element} element */
  showInstead(element) {
    this.#setBlank(true);
    this.#column.showInstead([element]);
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
    this.#column.element.classList.toggle("is-blank", isBlank);
  }

  showSkeleton() {
    this.#setBlank(false);
    this.#column.showInstead([skeleton(6), skeleton(6)]);
  }

  /** @param {Turn[]} turns @param {boolean} hasOlder */
  show(turns, hasOlder) {
    this.#setBlank(false);
    this.#turns = turns;
    this.#hasOlder = hasOlder;
    this.#older.hidden = !hasOlder && !this.#note;
    this.#older.textContent = this.#note;
    const unfinished = this.#column.show(turns, this.#isAtEnd && !this.#isEditing);
    if (!this.#isAtEnd && unfinished > 0) this.#hasNews = true;
    this.#follow();
    if (this.#column.isPartial) this.#planColumn();
  }

  /** The view of an exchange, if it is drawn at present. @param {Turn} turn */
  view(turn) {
    return this.#column.view(turn);
  }

  /** Whether every loaded exchange is on the page, where the browser's own search finds it. */
  get isWhole() {
    return this.#column.isAllDrawn;
  }

  /** Starts the editing of a message, wherever it is. @param {Turn} turn */
  edit(turn) {
    if (!this.#column.view(turn)) this.#isAtEnd = false;
    this.#column.bring(turn)?.startEditing();
  }

  /** Draws what has come near, before the next frame. */
  #planColumn() {
    if (this.#isColumnPlanned) return;
    this.#isColumnPlanned = true;
    requestAnimationFrame(() => {
      this.#isColumnPlanned = false;
      if (this.#isBlank) return;
      this.#column.look(this.#isAtEnd && !this.#isEditing);
      this.#follow();
      if (this.#column.isPartial) this.#planColumn();
    });
  }

  /** Brings an exchange to the top of the view, marks it for a moment, and gives it the focus. @param {Turn} turn */
  goTo(turn) {
    const element = this.bring(turn);
    if (!element) return;
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    element.dataset.found = "";
    setTimeout(() => delete element.dataset.found, markMs);
  }

  /**
   * Brings an exchange, or a part of it, to the top of the view.
   * @param {Turn} turn
   * @param {(element: HTMLElement) => (Range | undefined)} [partOf]
   * @returns {HTMLElement | undefined}
   */
  bring(turn, partOf) {
    this.#isAtEnd = false;
    const element = this.#column.bring(turn)?.element;
    if (!element) return undefined;
    const scroll = () => {
      this.#touchedAt = Date.now();
      const part = partOf?.(element) ?? element;
      // Not by `scrollIntoView`, which would scroll the page around the conversation too.
      const above = part.getBoundingClientRect().top - this.element.getBoundingClientRect().top;
      const { clientHeight } = this.element;
      // A part that is in sight stays where it is.
      if (part !== element && above > clearOfEdge && above < clientHeight - clearOfEdge * 2) return;
      this.element.scrollTop += above - (part === element ? clearOfEdge : clientHeight / 3);
    };
    scroll();
    // What comes into view for the first time takes its true height only then.
    requestAnimationFrame(scroll);
    return element;
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
    // Nothing but the reader moves the view up while the column does not shrink.
    const isUp = scrollTop < this.#top - 1 && scrollHeight >= this.#height && Date.now() - this.#inputAt < glideMs;
    this.#top = scrollTop;
    const hasMoved = isUp || this.#isEditing || scrollHeight === this.#height || Date.now() - this.#touchedAt < handMs;
    this.#height = scrollHeight;
    if (this.#isAtEnd && !hasMoved) {
      // The column changed its height; the reader did not scroll.
      this.#follow();
      return;
    }
    // However little it is: a line up is a wish to read.
    this.#isAtEnd = scrollHeight - scrollTop - clientHeight < (isUp ? 2 : nearEnd);
    if (this.#isAtEnd) this.#hasNews = false;
    this.#offerEnd();
  }

  #follow() {
    if (this.#isAtEnd && !this.#isEditing && !this.#isBlank) {
      this.#height = this.element.scrollHeight;
      this.element.scrollTop = this.#height;
      this.#top = this.element.scrollTop;
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
    try {
      if (!(await this.#loadOlder())) return;
    } catch {
      this.#older.textContent = texts.turn.olderFailed;
      this.#hasOlderFailed = true;
      return;
    }
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
