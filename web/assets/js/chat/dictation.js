// Dictation: records what a person says, and has the server write it down. Only where the browser has a microphone to offer, which
// it has only for pages of this machine and over https.

import { request } from "../shared/api.js";
import { make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { transcribePath } from "../shared/transcribe-path.js";
import { recordedSound } from "./recorded-sound.js";
import { dictationWords as words } from "../texts/dictation.js";

/** The services take files of 20 MB, which is hours of speech; a microphone that was forgotten is switched off before. */
const maxMs = 10 * 60 * 1000;

const patienceMs = 120000;

export class Dictation {
  element = make("button", { type: "button", class: "icon-button dictate", hidden: true });
  #heard;
  #failed;
  /** @type {MediaRecorder | null} */ #recorder = null;
  #isWriting = false;
  #isStarting = false;
  /** Changes with every recording that is cancelled. */ #generation = 0;

  /** @param {(text: string) => void} heard @param {(why: string) => void} failed "" takes back what was said last */
  constructor(heard, failed) {
    this.#heard = heard;
    this.#failed = failed;
    this.element.addEventListener("click", () => (this.#recorder ? this.#recorder.stop() : void this.#start()));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.#recorder) return;
      event.stopPropagation();
      this.cancel();
    });
    this.#draw();
  }

  /** @param {boolean} isOffered */
  offer(isOffered) {
    this.element.hidden = !isOffered || !navigator.mediaDevices || !("MediaRecorder" in window);
  }

  /** Throws away what is being recorded. */
  cancel() {
    this.#generation += 1;
    this.#recorder?.stop();
  }

  async #start() {
    // The browser may be asking the person; a second press then must not open the microphone twice.
    if (this.#isWriting || this.#isStarting) return;
    this.#isStarting = true;
    this.#failed("");
    try {
      await this.#record(this.#generation);
    } catch (fault) {
      this.#failed(/** @type {Error} */ (fault).name === "NotFoundError" ? words.missing : words.denied);
    } finally {
      this.#isStarting = false;
    }
  }

  /** @param {number} generation */
  async #record(generation) {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const silence = () => stream.getTracks().forEach((track) => track.stop());
    let recorder;
    try {
      recorder = new MediaRecorder(stream);
    } catch (fault) {
      silence();
      throw fault;
    }
    /** @type {Blob[]} */ const parts = [];
    const timer = setTimeout(() => recorder.stop(), maxMs);
    recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    recorder.addEventListener("stop", () => {
      clearTimeout(timer);
      // Switches the light of the microphone off.
      silence();
      this.#recorder = null;
      this.#draw();
      if (generation === this.#generation) void this.#write(recordedSound(parts, recorder), generation);
    });
    // The conversation may have been left while the browser asked.
    if (generation !== this.#generation) return silence();
    this.#recorder = recorder;
    recorder.start();
    this.#draw();
  }

  /** @param {Blob} recording @param {number} generation */
  async #write(recording, generation) {
    this.#isWriting = true;
    this.#draw();
    try {
      const { text } = await request(transcribePath, { method: "POST", file: recording, signal: AbortSignal.timeout(patienceMs) });
      if (generation !== this.#generation) return;
      if (text.trim()) this.#heard(text.trim());
      else this.#failed(words.nothing);
    } catch (problem) {
      if (generation === this.#generation) this.#failed(words.failed(/** @type {Error} */ (problem).message));
    } finally {
      this.#isWriting = false;
      this.#draw();
    }
  }

  #draw() {
    const isOn = this.#recorder !== null;
    const label = this.#isWriting ? words.hearing : isOn ? words.stop : words.start;
    this.element.replaceChildren(icon(isOn ? "stop" : "microphone"));
    this.element.setAttribute("aria-label", label);
    this.element.setAttribute("aria-pressed", String(isOn));
    this.element.setAttribute("aria-busy", String(this.#isWriting));
    this.element.title = label;
  }
}
