// Checks whether a message is too long for a frame, or to be shown whole. The server closes the connection over a frame above
// 1 MiB, so a larger one is reported instead of sent. Pure.

/** @import { Attachment } from "./types.js" */

const frameLimit = 1048576;
/** Reserved for the rest of the frame: its type, its id and the name of the conversation. */
const envelope = 2048;

/** Whether a message, as serialised, fits into a frame. @param {string} text @param {Attachment[]} files */
export function fits(text, files) {
  const plain = files.map(({ name, mime, data, text: words, upload }) =>
    upload
      ? { upload }
      : { name, mime, data: data ?? "x".repeat(Math.ceil(new TextEncoder().encode(words ?? "").length / 3) * 4) },
  );
  return new TextEncoder().encode(JSON.stringify([text, plain])).length <= frameLimit - envelope;
}

const foldedLines = 12;

/** Whether a message is so long that it would push its status out of sight. @param {string} text */
export function isLong(text) {
  const lines = text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 60)), 0);
  return lines > foldedLines + 6;
}
