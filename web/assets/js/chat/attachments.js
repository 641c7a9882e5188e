// Turns files into attachments: pictures, scaled down if necessary, text, and documents, which the server turns into text.
// Everything else is rejected with a message about what can be attached. A frame holds 1 MiB, so a message's files share one allowance.

import { texts } from "../texts.js";

/** @import { Attachment } from "./types.js" */

const pictures = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export const allowance = 700 * 1024;
export const maxFiles = 8;
const longSide = 1568;

const documents = /\.(pdf|docx|docm|xlsx|xlsm|xlsb|xls|pptx|ppsx|odt|ods|odp|epub|rtf|csv|tsv|html?)$/i;

/** The types that the file chooser offers. */
export const accept =
  ".pdf,.docx,.xlsx,.xls,.pptx,.odt,.ods,.odp,.epub,.rtf,image/png,image/jpeg,image/gif,image/webp,text/*,.md,.json,.toml,.yaml,.yml,.csv,.log,.rs," +
  ".py,.js,.ts,.sh,.sql,.xml,.html,.css,.c,.h,.cpp,.go,.java,.rb,.ini,.conf,.diff,.patch";

/**
 * Turns a file into an attachment.
 * @param {File} file
 * @param {number} room bytes left of the allowance
 * @returns {Promise<Attachment>} rejected with a message for the user
 */
export async function readAttachment(file, room) {
  const name = file.name || texts.composer.pasted;
  if (file.size === 0) throw new Error(texts.attachment.empty(name));
  if (pictures.has(file.type)) return readPicture(file, name, room);
  if (file.type.startsWith("image/") || /^(audio|video|font)\//.test(file.type))
    throw new Error(texts.attachment.unsupported(name));
  if (file.size > 4 * allowance) throw new Error(texts.attachment.tooLarge(name));
  const bytes = new Uint8Array(await file.arrayBuffer().catch(() => fail(texts.attachment.broken(name))));
  const declared = file.type.split(";")[0];
  // Text in another encoding than UTF-8 is for the server to judge.
  const mayBeText = isText(bytes) || file.type.startsWith("text/");
  if (!mayBeText && !documents.test(name)) throw new Error(texts.attachment.unsupported(name));
  if (bytes.length > room) throw new Error(texts.attachment.tooLarge(name));
  const isDocument = documents.test(name) && !isText(bytes);
  const mime = file.type.startsWith("text/") ? declared : isDocument ? declared || "application/octet-stream" : "text/plain";
  return { name, mime, data: toBase64(bytes) };
}

/** An attachment as it is sent; a text file that came back from the server carries no data. @param {Attachment} attachment */
export function sendable({ name, mime, data, text }) {
  return { name, mime, data: data ?? toBase64(new TextEncoder().encode(text ?? "")) };
}

/** The number of bytes an attachment takes of the allowance. @param {Attachment} attachment */
export const weight = ({ data = "" }) => Math.ceil((data.length * 3) / 4);

/** @param {File} file @param {string} name @param {number} room @returns {Promise<Attachment>} */
async function readPicture(file, name, room) {
  const bitmap = await createImageBitmap(file).catch(() => fail(texts.attachment.broken(name)));
  const isLarge = Math.max(bitmap.width, bitmap.height) > 2 * longSide;
  if (file.size <= Math.min(room, allowance / 2) && !isLarge) {
    return { name, mime: file.type, data: toBase64(new Uint8Array(await file.arrayBuffer())) };
  }
  for (const [scale, quality] of [
    [1, 0.85],
    [1, 0.7],
    [0.7, 0.75],
    [0.5, 0.7],
    [0.35, 0.65],
  ]) {
    const blob = await redraw(bitmap, longSide * scale, quality);
    if (blob && blob.size <= Math.min(room, allowance / 2)) {
      return { name, mime: blob.type, data: toBase64(new Uint8Array(await blob.arrayBuffer())) };
    }
  }
  throw new Error(texts.attachment.tooLarge(name));
}

/** @param {ImageBitmap} bitmap @param {number} side @param {number} quality @returns {Promise<Blob | null>} */
function redraw(bitmap, side, quality) {
  const ratio = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * ratio));
  canvas.height = Math.max(1, Math.round(bitmap.height * ratio));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/webp", quality));
}

/** Returns whether the bytes are text, that is, UTF-8 without NUL. @param {Uint8Array} bytes */
export function isText(bytes) {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** @param {Uint8Array} bytes */
export function toBase64(bytes) {
  let binary = "";
  for (let from = 0; from < bytes.length; from += 0x8000)
    binary += String.fromCharCode(...bytes.subarray(from, from + 0x8000));
  return btoa(binary);
}

/** @param {string} message @returns {never} */
function fail(message) {
  throw new Error(message);
}
