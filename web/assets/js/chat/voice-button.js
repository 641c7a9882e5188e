// The button of the voice conversation. It is there where the server transcribes, and the browser has a microphone and a voice.

import { iconButton } from "../shared/controls.js";
import { voiceWords as words } from "../texts/voice.js";
import { hasVoice } from "./read-aloud.js";

/** @import { Turn } from "./types.js" */
/** @import { VoiceConversation } from "./voice.js" */

const script = new URL("./voice.js", import.meta.url).href;

export class VoiceButton {
  element = iconButton({ label: words.start, icon: "voice", look: "voice-button", press: () => void this.#toggle() });
  #actions;
  #isOffered = false;
  /** @type {VoiceConversation | null} */ #conversation = null;
  /** Changes with every end, also while it is loaded. */ #generation = 0;

  /**
   * @param {{send: (text: string) => void, place: (panel: HTMLElement) => void, failed: (why: string) => void}} actions "" takes back
   *   what was said last
   */
  constructor(actions) {
    this.#actions = actions;
    this.element.hidden = true;
    globalThis.speechSynthesis?.addEventListener?.("voiceschanged", () => this.offer(this.#isOffered));
  }

  /** @param {boolean} isOffered whether the server hears what is said */
  offer(isOffered) {
    this.#isOffered = isOffered;
    this.element.hidden = !isOffered || !navigator.mediaDevices || !("MediaRecorder" in window) || !hasVoice();
  }

  /** @param {Turn[]} turns */
  follow(turns) {
    this.#conversation?.follow(turns);
  }

  /** Ends it, because its conversation is left. */
  end() {
    this.#generation += 1;
    this.#conversation?.end("");
  }

  async #toggle() {
    if (this.#conversation) return this.end();
    this.#generation += 1;
    const generation = this.#generation;
    this.#actions.failed("");
    /** @type {typeof import("./voice.js") | null} */
    const loaded = await import(script).catch(() => null);
    if (generation !== this.#generation) return;
    if (!loaded) return this.#actions.failed(words.notLoaded);
    const conversation = new loaded.VoiceConversation({
      send: this.#actions.send,
      ended: (why) => {
        this.#conversation = null;
        this.#draw();
        this.#actions.failed(why);
      },
    });
    this.#conversation = conversation;
    this.#actions.place(conversation.element);
    this.#draw();
    void conversation.start();
  }

  #draw() {
    const isOn = this.#conversation !== null;
    const label = isOn ? words.end : words.start;
    this.element.setAttribute("aria-pressed", String(isOn));
    this.element.setAttribute("aria-label", label);
    this.element.title = label;
  }
}
