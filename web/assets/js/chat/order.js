// Puts frames in order across a reconnect. Until the transcript is loaded and the replay has arrived, frames are held;
// then they go on in order of `seq`, each once. Pure.

export class FrameOrder {
  #after = 0;
  /** @type {any[] | null} Held frames, or null when they pass straight through. */ #held = [];
  #deliver;

  /** @param {(frame: any) => void} deliver */
  constructor(deliver) {
    this.#deliver = deliver;
  }

  /** The last frame that was delivered, or that the transcript reflects. */
  get after() {
    return this.#after;
  }

  get isHolding() {
    return this.#held !== null;
  }

  /** Starts to hold what comes. */
  hold() {
    this.#held ??= [];
  }

  /** What is up to this number is already in the transcript. @param {number} seq */
  startAfter(seq) {
    this.#after = seq;
  }

  /** Lets go of what is held. */
  release() {
    const held = (this.#held ?? []).sort((one, other) => one.seq - other.seq);
    this.#held = null;
    for (const frame of held) this.take(frame);
  }

  /** @param {any} frame */
  take(frame) {
    if (typeof frame.seq !== "number") {
      this.#deliver(frame);
    } else if (this.#held) {
      this.#held.push(frame);
    } else if (frame.seq > this.#after) {
      this.#after = frame.seq;
      this.#deliver(frame);
    }
  }
}
