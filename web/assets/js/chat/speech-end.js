// When a person has finished speaking: measured by the level of the sound against the room's own noise. Pure.

/** How long it must be quiet after what was said. */
const pauseMs = 1200;
/** How long a sound must last to count as speech; a door that shuts is shorter. */
const speechMs = 160;
const longestMs = 60000;
const patienceMs = 30000;
/** Speech is this much louder than the room; below the floor everything is quiet. */
const factor = 2.8;
const floor = 0.008;

/** @typedef {"waiting" | "speaking" | "ended" | "silent"} Hearing */

export class SpeechEnd {
  #noise = 0;
  #heardMs = 0;
  #quietMs = 0;
  #speechMs = 0;
  #totalMs = 0;
  #hasSpoken = false;

  /** Whether the last sound was louder than the room. */
  isLoud = false;

  /**
   * Takes the level of the last piece of sound.
   * @param {number} level from 0 to 1 @param {number} ms how long the piece was
   * @returns {Hearing}
   */
  hear(level, ms) {
    this.#heardMs += ms;
    this.#learn(level, ms);
    this.isLoud = level > Math.max(floor, this.#noise * factor);
    if (this.isLoud) {
      this.#speechMs += ms;
      this.#quietMs = 0;
      this.#hasSpoken ||= this.#speechMs >= speechMs;
    } else {
      this.#quietMs += ms;
      // Syllables have gaps; only a longer one begins anew.
      if (!this.#hasSpoken && this.#quietMs > 120) this.#speechMs = 0;
    }
    if (!this.#hasSpoken) return this.#heardMs >= patienceMs ? "silent" : "waiting";
    this.#totalMs += ms;
    return this.#quietMs >= pauseMs || this.#totalMs >= longestMs ? "ended" : "speaking";
  }

  /** The room's noise is the quiet between sounds: it falls at once, and rises slowly, over seconds. @param {number} level @param {number} ms */
  #learn(level, ms) {
    if (this.#heardMs <= ms) this.#noise = Math.min(level, floor);
    else if (level < this.#noise) this.#noise += (level - this.#noise) * Math.min(1, ms / 200);
    else this.#noise += (level - this.#noise) * Math.min(1, ms / (this.#hasSpoken ? 30000 : 4000));
  }
}
