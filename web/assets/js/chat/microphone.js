// The microphone of the voice conversation: hears until a sentence has ended, and is deaf in between. It is released with `close`.

import { recordedSound } from "./recorded-sound.js";
import { SpeechEnd } from "./speech-end.js";

const pieceMs = 50;
/** Quiet before the first word is thrown away in pieces of this length. */
const leadMs = 5000;

export class Microphone {
  #stream;
  #context = new AudioContext();
  #analyser = this.#context.createAnalyser();
  #samples;

  /** @param {MediaStream} stream */
  constructor(stream) {
    this.#stream = stream;
    this.#analyser.fftSize = 2048;
    this.#samples = new Float32Array(this.#analyser.fftSize);
    this.#context.createMediaStreamSource(stream).connect(this.#analyser);
    this.#setDeaf(true);
  }

  /** Asks the person for it. */
  static async open() {
    const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
    const stream = await navigator.mediaDevices.getUserMedia({ audio });
    try {
      return new Microphone(stream);
    } catch (fault) {
      for (const track of stream.getTracks()) track.stop();
      throw fault;
    }
  }

  /** Switches it off, light included. */
  close() {
    for (const track of this.#stream.getTracks()) track.stop();
    void this.#context.close().catch(() => undefined);
  }

  /** @param {boolean} isDeaf */
  #setDeaf(isDeaf) {
    for (const track of this.#stream.getTracks()) track.enabled = !isDeaf;
  }

  #level() {
    this.#analyser.getFloatTimeDomainData(this.#samples);
    return Math.sqrt(this.#samples.reduce((sum, sample) => sum + sample * sample, 0) / this.#samples.length);
  }

  /**
   * Hears one sentence.
   * @param {AbortSignal} signal @param {(level: number) => void} heard called with each level, from 0 to 1
   * @returns {Promise<Blob | null>} null if nothing was said
   */
  async sentence(signal, heard) {
    this.#setDeaf(false);
    await this.#context.resume();
    const end = new SpeechEnd();
    let recording = new Recording(this.#stream);
    try {
      for (let last = performance.now(); ; ) {
        await pause(pieceMs, signal);
        const now = performance.now();
        const level = this.#level();
        const hearing = end.hear(level, now - last);
        last = now;
        heard(end.isLoud ? Math.min(1, level * 6) : 0);
        if (hearing === "silent") return null;
        if (hearing === "ended") return await recording.finish();
        if (hearing === "waiting" && !end.isLoud && recording.ms > leadMs) {
          recording.drop();
          recording = new Recording(this.#stream);
        }
      }
    } finally {
      recording.drop();
      this.#setDeaf(true);
    }
  }
}

class Recording {
  #recorder;
  #begin = performance.now();
  /** @type {Blob[]} */ #parts = [];

  /** @param {MediaStream} stream */
  constructor(stream) {
    this.#recorder = new MediaRecorder(stream);
    this.#recorder.addEventListener("dataavailable", ({ data }) => this.#parts.push(data));
    this.#recorder.start();
  }

  get ms() {
    return performance.now() - this.#begin;
  }

  /** @returns {Promise<Blob>} */
  finish() {
    return new Promise((resolve) => {
      this.#recorder.addEventListener("stop", () => resolve(recordedSound(this.#parts, this.#recorder)));
      this.#recorder.stop();
    });
  }

  drop() {
    if (this.#recorder.state !== "inactive") this.#recorder.stop();
  }
}

/** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
