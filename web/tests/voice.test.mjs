// When a spoken sentence is over, and what of an answer is read next.

import assert from "node:assert/strict";
import test from "node:test";
import { recordedSound } from "../assets/js/chat/recorded-sound.js";
import { SpeechEnd } from "../assets/js/chat/speech-end.js";
import { nextSentences } from "../assets/js/chat/voice-reading.js";

const piece = 50;

/** Plays levels, each for some ms, and returns what is heard at the end and after how long. @param {[number, number][]} sounds */
function play(...sounds) {
  const end = new SpeechEnd();
  let heard = "waiting";
  let at = 0;
  for (const [level, ms] of sounds) {
    for (let done = 0; done < ms; done += piece) {
      heard = end.hear(level, piece);
      at += piece;
      if (heard === "ended" || heard === "silent") return [heard, at];
    }
  }
  return [heard, at];
}

test("a sentence ends after a pause, and not at the gaps between words", () => {
  assert.deepEqual(play([0.001, 1000], [0.2, 800], [0.001, 900], [0.2, 500], [0.001, 3000]), ["ended", 1000 + 800 + 900 + 500 + 1200]);
});

test("speech is told from the noise of the room, loud or quiet", () => {
  const ends = (/** @type {number} */ noise) => play([noise, 3000], [noise * 6 + 0.02, 1000], [noise, 2000]);
  for (const noise of [0, 0.001, 0.02, 0.05]) assert.deepEqual(ends(noise), ["ended", 5200], String(noise));
});

test("a short sound is no speech", () => {
  assert.equal(play([0.001, 1000], [0.3, 100], [0.001, 2000])[0], "waiting");
});

test("nothing said for half a minute, and a minute of speech, end it", () => {
  assert.deepEqual(play([0.001, 60000]), ["silent", 30000]);
  const words = Array.from({ length: 200 }, () => [[0.3, 400], [0.001, 100]]).flat();
  const [heard, at] = play([0.001, 500], .../** @type {[number, number][]} */ (words));
  assert.equal(heard, "ended");
  assert.ok(at > 60000 && at < 61000, String(at));
});

test("an answer that grows is read in whole sentences, each once", () => {
  const read = [];
  let count = 0;
  const grow = (/** @type {string} */ text, /** @type {boolean} */ isComplete) => {
    const next = nextSentences(text, count, isComplete);
    read.push(...next);
    count += next.length;
  };
  grow("One is", false);
  grow("One is here. Two", false);
  grow("One is here. Two is there! Three", false);
  grow("One is here. Two is there! Three", true);
  grow("One is here. Two is there! Three", true);
  assert.deepEqual(read, ["One is here.", "Two is there!", "Three"]);
});

test("a recording has the type of its parts, where the recorder has forgotten it", () => {
  const ogg = new Blob(["a"], { type: "audio/ogg; codecs=opus" });
  assert.equal(recordedSound([ogg, ogg], { mimeType: "" }).type, "audio/ogg; codecs=opus");
  assert.equal(recordedSound([new Blob(["a"])], { mimeType: "audio/webm" }).type, "audio/webm");
  assert.equal(recordedSound([], { mimeType: "audio/mp4" }).type, "audio/mp4");
});
