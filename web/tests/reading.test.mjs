// What stands in and above a reply: thoughts, and what is read aloud.

import assert from "node:assert/strict";
import test from "node:test";
import { applyFrame } from "../assets/js/chat/frames.js";
import { languageOf, pieces } from "../assets/js/chat/read-aloud.js";
import { newTurn } from "../assets/js/chat/turn.js";

const frames = (turn, ...all) => all.forEach((frame) => applyFrame(turn, frame));
const thoughts = (turn) => turn.reply.extras.map(({ part }) => [part.text, part.ms, part.isLive]);

test("a thought grows until its time comes, and the next one is another", () => {
  const turn = newTurn("a");
  frames(turn, { type: "reasoning", text: "let " }, { type: "reasoning", text: "me" });
  assert.deepEqual(thoughts(turn), [["let me", undefined, true]]);
  frames(turn, { type: "reasoning", text: "", ms: 1200 }, { type: "reasoning", text: "again" });
  assert.deepEqual(thoughts(turn), [
    ["let me", 1200, false],
    ["again", undefined, true],
  ]);
  frames(turn, { type: "done", text: "x", html: "", stop_reason: "stopped" });
  assert.deepEqual(thoughts(turn)[1], ["again", undefined, false]);
});

test("an end without a thought shows nothing", () => {
  const turn = newTurn("a");
  frames(turn, { type: "reasoning", text: "", ms: 3 });
  assert.deepEqual(thoughts(turn), []);
});

test("a text is read in sentences that are short enough", () => {
  assert.deepEqual(pieces("One. Two!\n\nThree"), ["One.", "Two!", "Three"]);
  const long = pieces("word ".repeat(200));
  assert.ok(long.every((piece) => piece.length <= 220));
  assert.equal(long.join(" "), "word ".repeat(200).trim());
  assert.deepEqual(pieces("x".repeat(500)).map((piece) => piece.length), [220, 220, 60]);
});

test("a script that one language is written in names it", () => {
  assert.deepEqual(["Hello", "שלום", "こんにちは", "你好", "привет"].map(languageOf), ["", "he", "ja", "zh", "ru"]);
});
