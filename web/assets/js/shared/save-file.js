// Files that a page makes itself and hands to the browser to keep.

import { make } from "./dom.js";

/** How long the browser may take to begin. */
const patienceMs = 60000;

/** @param {string} name @param {Blob} content */
export function saveFile(name, content) {
  const href = URL.createObjectURL(content);
  const link = make("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), patienceMs);
}
