// Turns files into attachments: pictures, scaled down if necessary, text, and documents, which the server turns into text.
// Everything else is rejected with a message about what can be attached. Each file is uploaded when it is picked; only where that
// is impossible does it travel in the frame of its message, which holds 1 MiB.

import { at } from "../shared/base.js";
import { texts } from "../texts.js";

/** @import { Attachment } from "./types.js" */

const pictures = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** The largest file that the server takes, in bytes. */
const maxUpload = 20 * 1024 * 1024;
/** What the files of a message may take of its frame, in bytes. */
export const allowance = 700 * 1024;
export const maxFiles = 10;
/** What the files of a message may have together, in bytes. */
export const maxTogether = 60 * 1024 * 1024;
const longSide = 1568;
/** The longest text that stays in the page, in bytes. */
const shownText = 256 * 1024;

const documents = /\.(pdf|docx|docm|xlsx|xlsm|xlsb|xls|pptx|ppsx|odt|ods|odp|epub|rtf|csv|tsv|html?)$/i;
/** Documents whose text is not what one reads, even if their bytes are text. */
const coded = /\.(pdf|rtf)$/i;

/** The types that the file chooser offers. */
export const accept =
  ".pdf,.docx,.xlsx,.xls,.pptx,.odt,.ods,.odp,.epub,.rtf,image/png,image/jpeg,image/gif,image/webp,text/*,.md,.json,.toml,.yaml,.yml,.csv,.log,.rs," +
  ".py,.js,.ts,.sh,.sql,.xml,.html,.css,.c,.h,.cpp,.go,.java,.rb,.ini,.conf,.diff,.patch";

/**
 * Uploads a file for a message.
 * @param {File} file
 * @param {number} room bytes left of the allowance, if it cannot be uploaded
 * @param {AbortSignal} stop ends the upload
 * @returns {Promise<Attachment>} rejected with a message for the user
 */
export async function readAttachment(file, room, stop) {
  const name = file.name || texts.composer.pasted;
  const { mime, blob } = await judged(file, name);
  const upload = await uploaded(name, mime, blob, stop);
  if (!upload && blob.size > room) throw new Error(texts.attachment.unreachable(name));
  // What the page shows of its own message without asking the server: pictures, and text that is not long.
  const isShown = pictures.has(mime) || (mime.startsWith("text/") && blob.size <= shownText);
  const data = isShown || !upload ? toBase64(new Uint8Array(await blob.arrayBuffer())) : undefined;
  return { name, mime, size: blob.size, ...(upload ? { upload } : {}), ...(data === undefined ? {} : { data }) };
}

/** What a file is, and what of it is sent. @param {File} file @param {string} name @returns {Promise<{mime: string, blob: Blob}>} */
async function judged(file, name) {
  if (file.size === 0) throw new Error(texts.attachment.empty(name));
  if (pictures.has(file.type)) return readPicture(file, name);
  if (/^image\/hei[cf]/.test(file.type) || /\.hei[cf]$/i.test(name)) throw new Error(texts.attachment.heic(name));
  if (file.type.startsWith("image/") || /^(audio|video|font)\//.test(file.type))
    throw new Error(texts.attachment.unsupported(name));
  if (file.size > maxUpload) throw new Error(texts.attachment.tooLarge(name));
  const bytes = new Uint8Array(await file.arrayBuffer().catch(() => fail(texts.attachment.broken(name))));
  const declared = file.type.split(";")[0];
  const isPlain = isText(bytes) && !coded.test(name);
  // Text in another encoding than UTF-8 is for the server to judge.
  const mayBeText = isPlain || file.type.startsWith("text/");
  if (!mayBeText && !documents.test(name)) throw new Error(texts.attachment.unsupported(name));
  const isDocument = documents.test(name) && !isPlain;
  const mime = file.type.startsWith("text/") ? declared : isDocument ? declared || "application/octet-stream" : "text/plain";
  return { mime, blob: file };
}

/**
 * Uploads a file and returns its id; "" if the server did not answer.
 * @param {string} name @param {string} mime @param {Blob} blob @param {AbortSignal} stop
 */
async function uploaded(name, mime, blob, stop) {
  let response;
  // A connection that stands still is given up: half a minute, and the time of a slow line for its size.
  const late = AbortSignal.timeout(30000 + blob.size / 20);
  const signal = AbortSignal.any([stop, late]);
  try {
    const headers = { "Content-Type": mime, Accept: "application/json" };
    response = await fetch(at(`/api/uploads?name=${encodeURIComponent(name)}`), { method: "PUT", headers, body: blob, signal });
  } catch {
    return "";
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return String(answer.id ?? "");
  // Without the dashboard there is no API, a sign-in that ended is asked for elsewhere, and a proxy may miss the server.
  if ([401, 404, 502, 503, 504].includes(response.status)) return "";
  throw new Error(answer.detail || texts.attachment.broken(name));
}

/**
 * An attachment as it is sent: by its id if it was uploaded; a text file that came back from the server carries no data.
 * @param {Attachment} attachment
 */
export function sendable({ name, mime, data, text, upload }) {
  if (upload) return { upload };
  return { name, mime, data: data ?? toBase64(new TextEncoder().encode(text ?? "")) };
}

/** The number of bytes an attachment takes of the allowance. @param {Attachment} attachment */
export const weight = ({ data = "", upload }) => (upload ? 0 : Math.ceil((data.length * 3) / 4));

/** @param {File} file @param {string} name @returns {Promise<{mime: string, blob: Blob}>} */
async function readPicture(file, name) {
  const bitmap = await createImageBitmap(file).catch(() => fail(texts.attachment.broken(name)));
  const isLarge = Math.max(bitmap.width, bitmap.height) > 2 * longSide;
  if (file.size <= allowance / 2 && !isLarge) return { mime: file.type, blob: file };
  for (const [scale, quality] of [
    [1, 0.85],
    [1, 0.7],
    [0.7, 0.75],
    [0.5, 0.7],
    [0.35, 0.65],
  ]) {
    const blob = await redraw(bitmap, longSide * scale, quality);
    if (blob && blob.size <= allowance / 2) return { mime: blob.type, blob };
  }
  throw new Error(texts.attachment.pictureTooLarge(name));
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
