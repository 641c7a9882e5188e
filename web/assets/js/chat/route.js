// The address of a conversation: `/#/NAME`. Pure except for `location`.

import { recall, remember } from "../shared/storage.js";

const lastKey = "aethon.last";

/** The conversation named in the address, else the one last open. */
export function currentName() {
  const match = /^#\/(.+)$/.exec(location.hash);
  const name = match ? decode(match[1]) : recall(lastKey);
  return name && isName(name) ? name : "default";
}

/** @param {string} name */
export const hrefOf = (name) => `#/${encodeURIComponent(name)}`;

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
