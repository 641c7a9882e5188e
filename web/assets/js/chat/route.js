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

/** @param {string} name */
export function rememberName(name) {
  remember(lastKey, name);
}

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
