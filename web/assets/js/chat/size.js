// How long a message is: too long for a frame, or for the eye. The server closes a connection over a frame above 1 MiB, so what is larger is not sent
// but said. Pure.

/** @import { Attachment } from "./types.js" */

const frameLimit = 1048576;
/** Kept for the rest of the frame: its type, its id and the name of the conversation. */
const envelope = 2048;

/** Whether a message fits into a frame as it is written there. @param {string} text @param {Attachment[]} files */
export function fits(text, files) {
  const plain = files.map(({ name, mime, data, text: words }) => ({ name, mime, data: data ?? "x".repeat(Math.ceil(new TextEncoder().encode(words ?? "").length / 3) * 4) }));
  return new TextEncoder().encode(JSON.stringify([text, plain])).length <= frameLimit - envelope;
}

const foldedLines = 12;

/** Whether a message is so long that it hides what is said about it. @param {string} text */
export function isLong(text) {
  const lines = text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 60)), 0);
  return lines > foldedLines + 6;
}
