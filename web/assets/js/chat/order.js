// Orders frames across a reconnect. Frames are held until the transcript is loaded and the replay has arrived, then delivered in
// order of `seq`, each once. Pure.

/** @import { TurnFrame } from "../wire/frames.js" */
/** @import { ServerFrame } from "./types.js" */

export class FrameOrder {
  #after = 0;
  /** @type {TurnFrame[] | null} Held frames, or null if frames pass straight through. */ #held = [];
  #deliver;

  /** @param {(frame: ServerFrame) => void} deliver */
  constructor(deliver) {
    this.#deliver = deliver;
  }

  /** The last frame that was delivered or is reflected in the transcript. */
  get after() {
    return this.#after;
  }

  get isHolding() {
    return this.#held !== null;
  }

  /** Starts holding frames. */
  hold() {
    this.#held ??= [];
  }

  /** Frames up to this number are already in the transcript. @param {number} seq */
  startAfter(seq) {
    this.#after = seq;
  }

  /** Delivers the held frames. */
  release() {
    const held = (this.#held ?? []).sort((one, other) => one.seq - other.seq);
    this.#held = null;
    for (const frame of held) this.take(frame);
  }

  /** @param {ServerFrame} frame */
  take(frame) {
    if (!("seq" in frame) || frame.type === "resumed") {
      this.#deliver(frame);
    } else if (this.#held) {
      this.#held.push(frame);
    } else if (frame.seq > this.#after) {
      this.#after = frame.seq;
      this.#deliver(frame);
    }
  }
}
