// The voice conversation: listens, sends what was understood, reads the answer aloud while it arrives, and listens again, until it
// is ended or something goes wrong. Loaded when its button is pressed.
//
// Whoever speaks decides nothing: an approval is read out and answered by hand.

import { Problem, request } from "../shared/api.js";
import { button } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { transcribePath } from "../shared/transcribe-path.js";
import { visible } from "../shared/visible.js";
import { voiceWords as words } from "../texts/voice.js";
import { Microphone } from "./microphone.js";
import { stopReading } from "./read-aloud.js";
import { openApproval, turnSequence } from "./turn.js";
import { Reading } from "./voice-reading.js";

/** @import { Turn } from "./types.js" */

const patienceMs = 120000;
/** After so many sentences in a row that could not be understood, it ends. */
const mostMisses = 3;

/** @typedef {"starting" | "listening" | "transcribing" | "thinking" | "speaking" | "waiting"} State */
/** @typedef {{send: (text: string) => void, ended: (why: string) => void}} Actions */

export class VoiceConversation {
  element = make("section", { class: "voice", "aria-label": words.title });
  #actions;
  #state = make("p", { class: "voice-state", role: "status" });
  #heard = make("p", { class: "voice-heard", "aria-live": "polite", dir: "auto" });
  #light = make("span", { class: "voice-light", "aria-hidden": "true" });
  #ending = new AbortController();
  /** @type {Microphone | null} */ #microphone = null;
  /** @type {Reading | null} */ #reading = null;
  /** What was sent after which exchange, and what to do once its answer has ended. @type {{text: string, after: number, done: () => void} | null} */ #awaited = null;
  /** @type {Turn[]} */ #turns = [];
  /** Approvals that were read out. @type {Set<string>} */ #told = new Set();

  /** @param {Actions} actions */
  constructor(actions) {
    this.#actions = actions;
    const end = button({ label: words.endShort, look: "button-small", press: () => this.end("") });
    end.setAttribute("aria-label", words.end);
    this.element.append(
      this.#light,
      make("div", { class: "voice-words" }, this.#state, this.#heard),
      end,
    );
  }

  /** Begins, and goes on until it is ended. */
  async start() {
    stopReading();
    this.#show("starting");
    const { signal } = this.#ending;
    document.addEventListener("keydown", (event) => this.#key(event), { capture: true, signal });
    document.addEventListener("pointerdown", () => this.#interrupt(), { capture: true, signal });
    document.addEventListener("visibilitychange", () => document.hidden && this.end(""), { signal });
    addEventListener("pagehide", () => this.end(""), { signal });
    try {
      const microphone = await Microphone.open();
      // It may have been ended while the browser asked.
      if (signal.aborted) return microphone.close();
      this.#microphone = microphone;
      await this.#converse(microphone, signal);
    } catch (fault) {
      if (!signal.aborted) this.end(reason(fault));
    }
  }

  /** Ends it and releases the microphone. @param {string} why in words, or "" if the person wanted it */
  end(why) {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort();
    this.#microphone?.close();
    this.#reading?.stop();
    this.#awaited?.done();
    this.element.remove();
    this.#actions.ended(why);
  }

  /** Follows the conversation, whenever it was drawn. @param {Turn[]} turns */
  follow(turns) {
    this.#turns = turns;
    const turn = this.#turn();
    if (!turn || !this.#reading) return;
    if (turn.said?.state === "failed") return this.end(words.notSent(turn.said.error));
    this.#reading.follow(turn);
    const approval = openApproval(turn);
    if (approval && !this.#told.has(approval.id)) {
      this.#told.add(approval.id);
      this.#reading.say(words.approval(approval.tool));
    }
    if (!this.#reading.isSpeaking) this.#rest();
    if (turn.state !== "done") return;
    if (turn.failure) this.#reading.say(words.failed(turn.failure.message));
    this.#awaited?.done();
  }

  /** The exchange whose answer is awaited. */
  #turn() {
    const awaited = this.#awaited;
    // The same may have been said before.
    return awaited ? this.#turns.findLast(({ said, sequence }) => said?.text === awaited.text && sequence > awaited.after) : undefined;
  }

  /** Says what the answer waits for while nothing is read. */
  #rest() {
    const turn = this.#turn();
    if (turn) this.#show(openApproval(turn) ? "waiting" : "thinking");
  }

  /** @param {Microphone} microphone @param {AbortSignal} signal */
  async #converse(microphone, signal) {
    for (let misses = 0; !signal.aborted; ) {
      this.#show("listening");
      const sentence = await microphone.sentence(signal, (level) => this.#light.style.setProperty("--level", String(level)));
      this.#light.style.setProperty("--level", "0");
      if (!sentence) return this.end(words.silent);
      this.#show("transcribing");
      const text = await transcribe(sentence, signal);
      misses = text ? 0 : misses + 1;
      if (misses >= mostMisses) return this.end(words.notUnderstood);
      this.#heard.replaceChildren(...(text ? visible(words.understood(text)) : [words.again]));
      if (text) await this.#answer(text);
    }
  }

  /** Sends what was understood, and reads the answer. @param {string} text */
  async #answer(text) {
    this.#show("thinking");
    const reading = new Reading(
      () => this.#show("speaking"),
      () => this.#rest(),
    );
    this.#reading = reading;
    await new Promise((done) => {
      this.#awaited = { text, after: turnSequence(), done: () => done(null) };
      this.#actions.send(text);
    });
    this.#awaited = null;
    await reading.finished();
    this.#reading = null;
  }

  /** Stops the reading, and listens. */
  #interrupt() {
    if (!this.#reading?.isSpeaking) return;
    this.#reading.stop();
    this.#awaited?.done();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing || event.defaultPrevented) return;
    if (event.key !== "Escape") return this.#interrupt();
    // In a dialog or a menu it closes that.
    if (document.querySelector("dialog[open], [popover]:popover-open")) return;
    event.preventDefault();
    event.stopPropagation();
    this.end("");
  }

  /** @param {State} state */
  #show(state) {
    if (this.element.dataset.state === state) return;
    this.element.dataset.state = state;
    this.#state.textContent = words.states[state];
  }
}

/** @param {Blob} sentence @param {AbortSignal} signal @returns {Promise<string>} */
async function transcribe(sentence, signal) {
  const within = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  const { text } = await request(transcribePath, { method: "POST", file: sentence, signal: within });
  return text.trim();
}

/** Why it ended. @param {unknown} fault */
function reason(fault) {
  if (fault instanceof Problem) return words.refused(fault.message);
  const { name, message } = /** @type {Error} */ (fault);
  if (name === "NotAllowedError" || name === "SecurityError") return words.denied;
  if (name === "NotFoundError") return words.missing;
  return words.refused(message);
}
