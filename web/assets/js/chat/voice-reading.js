// Reads an answer aloud while it arrives: sentence by sentence, each as soon as it is complete.

import { make } from "../shared/dom.js";
import { setRenderedHtml } from "../shared/html.js";
import { languageOf, pieces, spokenText } from "./read-aloud.js";

/** @import { Turn } from "./types.js" */

/** Some voices never tell that they have ended: a sentence may take so long, and so much more for each letter. */
const patienceMs = 8000;
const letterMs = 200;

/**
 * The sentences of a text that have not been read yet. The last one of a text that grows may not be complete.
 * @param {string} text @param {number} count how many were read @param {boolean} isComplete
 */
export function nextSentences(text, count, isComplete) {
  const all = pieces(text);
  return all.slice(count, isComplete ? all.length : -1);
}

/** What of a block is spoken. @param {string} html */
function spoken(html) {
  const block = make("div", { class: "prose" });
  setRenderedHtml(block, html);
  return spokenText([block]);
}

export class Reading {
  #began;
  #paused;
  #read = 0;
  #drawn = "";
  /** What is spoken of each block; while an answer grows, it is its last one that changes. @type {{html: string, text: string}[]} */ #blocks = [];
  /** @type {string[]} */ #queue = [];
  #isStopped = false;
  /** @type {(() => void) | null} Ends the sentence that is being read. */ #skip = null;
  /** @type {(() => void)[]} */ #idle = [];

  /** @param {() => void} began called when something is read @param {() => void} paused called when nothing is read any more */
  constructor(began, paused) {
    this.#began = began;
    this.#paused = paused;
  }

  get isSpeaking() {
    return this.#skip !== null;
  }

  /** Reads what is new in an answer. @param {Turn} turn */
  follow(turn) {
    if (this.#isStopped) return;
    const now = `${turn.version} ${turn.state}`;
    if (now === this.#drawn) return;
    this.#drawn = now;
    const known = this.#blocks;
    this.#blocks = turn.reply.blocks.map((html, at) => (known[at]?.html === html ? known[at] : { html, text: spoken(html) }));
    const text = this.#blocks.map((block) => block.text).join("\n");
    const next = nextSentences(text, this.#read, turn.state === "done");
    this.#read += next.length;
    for (const sentence of next) this.say(sentence);
  }

  /** Reads a sentence after those that wait. @param {string} sentence */
  say(sentence) {
    if (this.#isStopped) return;
    this.#queue.push(sentence);
    if (!this.#skip) this.#next();
  }

  /** Stops reading, for good. */
  stop() {
    this.#isStopped = true;
    this.#queue = [];
    speechSynthesis.cancel();
    this.#skip?.();
  }

  /** Resolves once nothing is read and nothing waits. @returns {Promise<void>} */
  finished() {
    return new Promise((resolve) => (this.isSpeaking ? this.#idle.push(resolve) : resolve()));
  }

  #next() {
    const sentence = this.#queue.shift();
    if (sentence === undefined) {
      this.#skip = null;
      this.#paused();
      for (const resolve of this.#idle.splice(0)) resolve();
      return;
    }
    const utterance = new SpeechSynthesisUtterance(sentence);
    utterance.lang = languageOf(sentence);
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#next();
    };
    const timer = setTimeout(over, patienceMs + letterMs * sentence.length);
    utterance.addEventListener("end", over);
    utterance.addEventListener("error", over);
    this.#skip = over;
    this.#began();
    speechSynthesis.speak(utterance);
  }
}
