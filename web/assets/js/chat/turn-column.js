// The exchanges of a conversation in their order. Those far from the view are released: a gap of their height stands for them until
// they come near again. What is in view stays where it is while others come and go.
//
// A conversation is opened step by step, because together the steps would block a phone for too long: what fills the view is built,
// a few exchanges at a time, and shown at once, so that nothing moves; the others follow above it.

import { arrange, make } from "../shared/dom.js";
import { pause } from "../shared/pause.js";
import { beginOf, chooseDrawn, exchangeAt } from "./turn-window.js";
import { TurnView } from "./turn-view.js";

/** @import { Turn } from "./types.js" */
/** @import { TurnActions } from "./turn-view.js" */
/** @import { Layout } from "./turn-window.js" */
/** @typedef {{key: string, top: number, part: number}} Anchor an exchange, where it stands, and which part of it is above the view */

/** The height of an exchange before any is measured. */
const usualHeight = 240;
/** Hardly an exchange is lower than this. */
const leastHeight = 100;
/** How many exchanges are built in one step. */
const step = 2;

export class TurnColumn {
  element = make("div", { class: "turns" });
  #scroller;
  #actions;
  #head;
  #built;
  /** @type {Turn[]} */ #turns = [];
  /** @type {Map<string, number>} How many unfinished turns are before each unfinished one. */ #behind = new Map();
  /** @type {Map<string, TurnView>} */ #views = new Map();
  /** @type {Map<string, TurnView>} What is built to be shown first. */ #ready = new Map();
  /** Rises with each opening. */ #opening = 0;
  #isOpening = false;
  /** How many of the last exchanges may be drawn so far. */ #most = Infinity;
  /** @type {Map<string, number>} The last known heights by the keys of the turns. */ #heights = new Map();
  /** @type {HTMLElement[]} */ #gaps = [];
  /** @type {Element[]} */ #shown = [];
  #width = 0;
  /** Whether everything is drawn, for the printer. */ #isWhole = false;

  /**
   * @param {HTMLElement} scroller @param {TurnActions} actions @param {HTMLElement} head what stands before the first exchange
   * @param {() => void} built called when what is to be shown first is built; until then, `show` leaves what is there
   */
  constructor(scroller, actions, head, built) {
    this.#scroller = scroller;
    this.#actions = actions;
    this.#head = head;
    this.#built = built;
    addEventListener("beforeprint", () => this.#printing(true));
    addEventListener("afterprint", () => this.#printing(false));
  }

  /** Removes the exchanges. */
  clear() {
    for (const view of this.#views.values()) view.close();
    this.#views.clear();
    this.#heights.clear();
    this.#turns = [];
    this.#endOpening();
  }

  /** Shows something other than exchanges. @param {Element[]} elements */
  showInstead(elements) {
    arrange(this.element, elements);
    this.#shown = [];
    this.#endOpening();
  }

  #endOpening() {
    this.#opening += 1;
    this.#isOpening = false;
    this.#ready.clear();
    this.#most = Infinity;
  }

  /** Builds what fills the view. */
  async #open() {
    this.#opening += 1;
    this.#isOpening = true;
    const opening = this.#opening;
    const first = this.#turns.slice(-Math.ceil(this.#scroller.clientHeight / leastHeight) - 1);
    for (const [index, turn] of first.entries()) {
      if (index % step === 0) await pause();
      if (opening !== this.#opening) return;
      const view = new TurnView(turn, this.#actions);
      view.update(turn, this.#behind.get(turn.key) ?? 0);
      this.#ready.set(turn.key, view);
    }
    await pause();
    if (opening !== this.#opening) return;
    this.#most = this.#ready.size;
    this.#isOpening = false;
    this.#built();
  }

  /**
   * @param {Turn[]} turns @param {boolean} isAtEnd whether the reader follows the end
   * @returns {number} how many are not finished
   */
  show(turns, isAtEnd) {
    const anchor = isAtEnd ? null : this.#anchor();
    this.#turns = turns;
    let unfinished = 0;
    this.#behind.clear();
    const keys = new Set();
    for (const turn of turns) {
      keys.add(turn.key);
      this.#behind.set(turn.key, unfinished);
      if (turn.state !== "done") unfinished += 1;
    }
    for (const [key, view] of this.#views) if (!keys.has(key)) this.#release(key, view);
    const isNew = this.#shown.length === 0 && this.#ready.size === 0 && !this.#isOpening;
    if (isNew && turns.length > step) void this.#open();
    if (this.#isOpening) return unfinished;
    this.#arrange(this.#layout(isAtEnd));
    if (anchor) this.#restore(anchor);
    return unfinished;
  }

  /** Whether exchanges wait to be drawn after those that were shown first. */
  get isPartial() {
    return this.#most < this.#turns.length;
  }

  /** Draws what has come near the view, and releases what has gone away from it. @param {boolean} isAtEnd */
  look(isAtEnd) {
    const width = this.element.clientWidth;
    if (this.#shown.length === 0 || width === 0) return;
    this.#most += step;
    const isResized = width !== this.#width;
    const isSame = !isResized && this.#isChosen(this.#choose(this.#layout(isAtEnd)));
    if (isSame || !this.isPartial) this.#most = Infinity;
    if (isSame) return;
    const anchor = isAtEnd ? null : this.#anchor();
    // The heights of what is not drawn hold for one width only.
    if (isResized) this.#heights.clear();
    this.#width = width;
    this.#arrange(this.#layout(isAtEnd));
    if (anchor) this.#restore(anchor);
  }

  get isAllDrawn() {
    return this.#turns.every(({ key }) => this.#views.has(key));
  }

  /** @param {Turn} turn @returns {TurnView | undefined} nothing if it is not drawn at present */
  view(turn) {
    return this.#views.get(turn.key);
  }

  /** Draws an exchange, however far away it is. @param {Turn} turn @returns {TurnView | undefined} */
  bring(turn) {
    const index = this.#turns.findIndex(({ key }) => key === turn.key);
    if (index < 0) return undefined;
    if (this.#isOpening) this.#endOpening();
    this.#most = Infinity;
    const layout = this.#layout(false);
    if (!this.#views.has(turn.key)) this.#arrange({ ...layout, top: beginOf(layout, index) });
    return this.#views.get(turn.key);
  }

  /** @param {boolean[]} chosen */
  #isChosen(chosen) {
    return chosen.every((isDrawn, index) => isDrawn === this.#views.has(this.#turns[index].key));
  }

  /** @param {boolean} isWhole */
  #printing(isWhole) {
    this.#isWhole = isWhole;
    if (this.#shown.length > 0) this.#arrange(this.#layout(false));
  }

  /** @param {Layout} layout */
  #choose(layout) {
    if (this.#isWhole) return layout.heights.map(() => true);
    const view = (/** @type {number} */ index) => this.#views.get(this.#turns[index].key);
    const chosen = chooseDrawn(layout, (index) => view(index) !== undefined, (index) => view(index)?.isInUse ?? false);
    const from = chosen.length - this.#most;
    return chosen.map((isDrawn, index) => isDrawn && (index >= from || view(index) !== undefined));
  }

  /** @param {Layout} layout */
  #arrange(layout) {
    const wanted = [this.#head];
    let gap = 0;
    let gaps = 0;
    const close = () => {
      if (gap === 0) return;
      const element = (this.#gaps[gaps] ??= make("div", { class: "turn-gap", "aria-hidden": "true" }));
      element.style.height = `${gap - layout.gap}px`;
      gaps += 1;
      gap = 0;
      wanted.push(element);
    };
    this.#choose(layout).forEach((isDrawn, index) => {
      const turn = this.#turns[index];
      const there = this.#views.get(turn.key);
      if (isDrawn) {
        close();
        const view = there ?? this.#ready.get(turn.key) ?? new TurnView(turn, this.#actions);
        this.#views.set(turn.key, view);
        view.update(turn, this.#behind.get(turn.key) ?? 0);
        wanted.push(view.element);
      } else {
        gap += layout.heights[index] + layout.gap;
        if (there) this.#release(turn.key, there);
      }
    });
    close();
    this.#ready.clear();
    const isArranged =
      wanted.length === this.element.childElementCount &&
      wanted.every((element, index) => element === this.#shown[index]);
    if (!isArranged) arrange(this.element, wanted);
    this.#shown = wanted;
  }

  /** @param {string} key @param {TurnView} view */
  #release(key, view) {
    view.close();
    this.#views.delete(key);
  }

  /** @param {boolean} isAtEnd @returns {Layout} */
  #layout(isAtEnd) {
    const gap = parseFloat(getComputedStyle(this.element).rowGap) || 0;
    for (const [key, { element }] of this.#views)
      if (element.isConnected) this.#heights.set(key, element.getBoundingClientRect().height);
    const known = [...this.#heights.values()];
    const usual = known.length > 0 ? known.reduce((sum, height) => sum + height, 0) / known.length : usualHeight;
    const heights = this.#turns.map(({ key }) => {
      // An estimate is kept too, so that the gap agrees with it.
      if (!this.#heights.has(key)) this.#heights.set(key, usual);
      return this.#heights.get(key) ?? usual;
    });
    const layout = { heights, gap, top: 0, height: this.#scroller.clientHeight };
    if (isAtEnd) return { ...layout, top: beginOf(layout, heights.length) - layout.height };
    return { ...layout, top: this.#topOf(layout) };
  }

  /** Where the view begins, from the beginning of the first exchange on. @param {Layout} layout */
  #topOf(layout) {
    const view = this.#scroller.getBoundingClientRect();
    let nearest = { away: Infinity, top: this.#scroller.scrollTop };
    this.#turns.forEach(({ key }, index) => {
      const element = this.#views.get(key)?.element;
      if (!element?.isConnected) return;
      const { top, bottom } = element.getBoundingClientRect();
      const away = Math.max(view.top - bottom, top - view.bottom, 0);
      if (away < nearest.away) nearest = { away, top: beginOf(layout, index) + view.top - top };
    });
    return nearest.top;
  }

  /** What the reader sees first: an exchange, or the place in a gap where one is to come. @returns {Anchor | null} */
  #anchor() {
    const view = this.#scroller.getBoundingClientRect();
    for (const { key } of this.#turns) {
      const element = this.#views.get(key)?.element;
      if (!element?.isConnected) continue;
      const { top, bottom } = element.getBoundingClientRect();
      if (bottom > view.top && top < view.bottom) return { key, top: top - view.top, part: 0 };
    }
    if (this.#views.size === 0) return null;
    const layout = this.#layout(false);
    const { index, part } = exchangeAt(layout, layout.top);
    return index < 0 ? null : { key: this.#turns[index].key, top: 0, part };
  }

  /** @param {Anchor} anchor */
  #restore({ key, top, part }) {
    const element = this.#views.get(key)?.element;
    if (!element) return;
    const now = element.getBoundingClientRect();
    const moved = now.top + part * now.height - this.#scroller.getBoundingClientRect().top - top;
    if (Math.abs(moved) >= 1) this.#scroller.scrollTop += moved;
  }
}
