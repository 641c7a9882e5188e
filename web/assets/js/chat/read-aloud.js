// Reads a reply aloud with the browser's own voice. Only one is read at a time; what has no sound (code, addresses) is left out.

import { spokenLines } from "./spoken.js";

/** Browsers break off what is longer. */
const longest = 220;

/** @type {{stop: () => void} | null} */
let reading = null;

/** Whether the browser has a voice. It may learn of its voices after the page was loaded. */
export const hasVoice = () => Boolean(globalThis.speechSynthesis?.getVoices().length);

// The first call makes the browser look for voices.
hasVoice();

/** The languages of scripts that no other language is written in. @type {[RegExp, string][]} */
const scripts = [
  [/[\u3040-\u30ff]/, "ja"],
  [/[\uac00-\ud7af]/, "ko"],
  [/[\u4e00-\u9fff]/, "zh"],
  [/[\u0590-\u05ff]/, "he"],
  [/[\u0600-\u06ff]/, "ar"],
  [/[\u0400-\u04ff]/, "ru"],
  [/[\u0370-\u03ff]/, "el"],
  [/[\u0900-\u097f]/, "hi"],
  [/[\u0e00-\u0e7f]/, "th"],
];

/** The language of a text by its script; empty for the browser's own. @param {string} text */
export const languageOf = (text) => scripts.find(([script]) => script.test(text))?.[1] ?? "";

/**
 * The sentences of a text, in pieces that are short enough.
 * @param {string} text
 * @returns {string[]}
 */
export function pieces(text) {
  const sentences = text.split(/(?<=[.!?。！？…:;])\s+|\n+/).map((sentence) => sentence.trim()).filter(Boolean);
  return sentences.flatMap((sentence) => {
    const parts = [];
    let rest = sentence;
    while (rest.length > longest) {
      const blank = rest.lastIndexOf(" ", longest);
      const end = blank > 0 ? blank : longest;
      parts.push(rest.slice(0, end));
      rest = rest.slice(end).trim();
    }
    return rest ? [...parts, rest] : parts;
  });
}

const unspoken = "figure, pre, input, .host, .footnote-reference, .footnote-name, .math, .formula, svg, button, iframe";

/** What of a reply is spoken. @param {Element[]} blocks */
export function spokenText(blocks) {
  return blocks
    .map((block) => {
      const copy = /** @type {Element} */ (block.cloneNode(true));
      for (const silent of copy.querySelectorAll(unspoken)) silent.remove();
      return spokenLines(copy).join("\n");
    })
    .join("\n");
}

/** Stops whatever is read. */
export function stopReading() {
  reading?.stop();
}

/**
 * Begins to read, in the place of what is being read.
 * @param {string} text
 * @param {() => void} ended called once, at the end or when it is stopped
 */
export function readAloud(text, ended) {
  stopReading();
  const voice = globalThis.speechSynthesis;
  const queue = pieces(text);
  let isOver = false;
  const finish = () => {
    if (isOver) return;
    isOver = true;
    if (reading === own) reading = null;
    removeEventListener("pagehide", own.stop);
    ended();
  };
  const own = {
    stop: () => {
      finish();
      voice.cancel();
    },
  };
  reading = own;
  addEventListener("pagehide", own.stop, { once: true });
  const next = () => {
    if (isOver) return;
    const piece = queue.shift();
    if (piece === undefined) return finish();
    const utterance = new SpeechSynthesisUtterance(piece);
    const language = languageOf(piece);
    if (language) utterance.lang = language;
    utterance.addEventListener("end", next);
    utterance.addEventListener("error", finish);
    voice.speak(utterance);
  };
  next();
}
