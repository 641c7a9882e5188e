// The address of a conversation, `/#/NAME`, or of one of its messages, `/#/NAME/ID`. Pure except for `location`.

import { recall, remember } from "../shared/storage.js";

const lastKey = "aethon.last";

/** The conversation named in the address, else the one last open. */
export function currentName() {
  const match = parts();
  const name = match ? decode(match[1]) : recall(lastKey);
  return name && isName(name) ? name : "default";
}

/** The message named in the address, or "". */
export const currentMessage = () => parts()?.[2] ?? "";

/** A slash in a name is encoded, so that the one before a message is unmistakable. */
const parts = () => /^#\/(.+?)(?:\/(\d+))?$/.exec(location.hash);

/** @param {string} name @param {string} [message] the id of a message */
export const hrefOf = (name, message) => `#/${encodeURIComponent(name)}${message ? `/${message}` : ""}`;

/** Notes what to open at the next visit. A temporary conversation is over by then. @param {string} name */
export function rememberName(name) {
  if (!isTemporary(name)) remember(lastKey, name);
}

/** A name for a new temporary conversation, by which the server knows that it is one. */
export function temporaryName() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `temporary-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Whether the server keeps a conversation of this name in memory only. @param {string} name */
export const isTemporary = (name) => /^(.*:)?temporary-[0-9a-f]{32}$/.test(name);

/** A name for a new conversation. */
export function freshName() {
  const letters = "abcdefghijkmnpqrstuvwxyz23456789";
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `c-${[...bytes].map((byte) => letters[byte % letters.length]).join("")}`;
}

/** @param {string} name */
const isName = (name) => name.length <= 128 && !/[\u0000-\u001f]/.test(name);

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
