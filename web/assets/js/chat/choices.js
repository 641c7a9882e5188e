// What a person has chosen for the open conversation: the model and how much it thinks. A choice is stored with the conversation,
// so that every device has it. A conversation that begins with the next message is stored by that, and its choice after it.

import { request, sessionPath } from "../shared/api.js";

/** @import { Effort } from "./types.js" */
/** @typedef {{model: string | null, effort: Effort | null}} Choice */

/** @type {Choice} */
const nothing = { model: null, effort: null };

export class Choices {
  /** @type {Map<string, Choice>} What the server has. */ #stored = new Map();
  /** @type {Map<string, Partial<Choice>>} What it does not have yet. */ #unsaved = new Map();
  /** @type {Set<string>} */ #saving = new Set();
  #changed;
  #failed;

  /** @param {(session: string) => void} changed @param {(problem: Error) => void} failed */
  constructor(changed, failed) {
    this.#changed = changed;
    this.#failed = failed;
  }

  /** What applies in a conversation. @param {string} session @returns {Choice} */
  of(session) {
    return { ...nothing, ...this.#stored.get(session), ...this.#unsaved.get(session) };
  }

  /** What goes with a message, because the server does not have it yet. @param {string} session @returns {Partial<Choice>} */
  unsaved(session) {
    return this.#unsaved.get(session) ?? {};
  }

  /** Takes over what the server says. @param {string} session @param {Partial<Choice>} settings */
  learn(session, { model, effort }) {
    const before = this.#stored.get(session) ?? nothing;
    const now = { model: model === undefined ? before.model : model, effort: effort === undefined ? before.effort : effort };
    this.#stored.set(session, now);
    if (now.model !== before.model || now.effort !== before.effort) this.#changed(session);
  }

  /**
   * @param {string} session @param {Partial<Choice>} choice
   * @param {boolean} isStored whether the server has the conversation
   */
  choose(session, choice, isStored) {
    this.#unsaved.set(session, { ...this.#unsaved.get(session), ...choice });
    this.#changed(session);
    if (isStored) void this.save(session);
  }

  /** Stores what was chosen before the conversation was. @param {string} session @returns {Promise<void>} */
  async save(session) {
    const choice = this.#unsaved.get(session);
    // One after the other, so that the last choice is the one that stays.
    if (!choice || this.#saving.has(session)) return;
    this.#saving.add(session);
    try {
      this.learn(session, await request(sessionPath(session), { method: "PATCH", body: choice }));
    } catch (problem) {
      if (this.#unsaved.get(session) === choice) this.#failed(/** @type {Error} */ (problem));
    }
    this.#saving.delete(session);
    // It may have changed again meanwhile.
    if (this.#unsaved.get(session) !== choice) return this.save(session);
    this.#unsaved.delete(session);
    this.#changed(session);
  }
}
