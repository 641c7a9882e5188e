// Text that was typed and not saved yet. Whatever would throw it away asks first: leaving the page, another address in it, and
// closing what it stands in.

import { conflictWords as words } from "../texts/conflict.js";
import { confirmDialog } from "./dialog.js";

/** @typedef {{isUnsaved: () => boolean, discard: () => void}} Writer */
/** @type {Map<HTMLElement, Writer>} The watched elements, with whether each has unsaved text. */
const writers = new Map();
/** Whether there is text that outlives leaving its address, but not the page. @type {Set<() => boolean>} */
const lasting = new Set();
/** How many are remembered before those that are gone from the page are forgotten. */
const MOST = 20;
let isListening = false;

/**
 * Watches this element for unsaved text, for as long as it is on the page.
 * @param {HTMLElement} element @param {() => boolean} isUnsaved @param {() => void} [discard] called when the user gives it up
 */
export function watchUnsaved(element, isUnsaved, discard = () => {}) {
  listen();
  // The newest may not be on the page yet.
  if (writers.size > MOST)
    for (const other of [...writers.keys()].slice(0, -2)) if (!other.isConnected) writers.delete(other);
  writers.set(element, { isUnsaved, discard });
}

/** Watches over text that lasts as long as the page, wherever in it the user goes. @param {() => boolean} hasText */
export function watchLasting(hasText) {
  listen();
  lasting.add(hasText);
}

function listen() {
  if (!isListening) addEventListener("beforeunload", (event) => wouldLose() && event.preventDefault());
  isListening = true;
}

/** Whether reloading the page would lose unsaved text. */
export const wouldLose = () => hasUnsaved() || [...lasting].some((hasText) => hasText());

/** Whether leaving would lose unsaved text. */
export const hasUnsaved = () => unsaved().length > 0;

const unsaved = () => [...writers].filter(([element, { isUnsaved }]) => element.isConnected && isUnsaved());

/** @type {Promise<boolean> | null} The question that is open. */
let asking = null;

/** Asks whether unsaved text may be discarded; true at once if there is none. @returns {Promise<boolean>} */
export function mayDiscard() {
  if (!hasUnsaved()) return Promise.resolve(true);
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
}

async function ask() {
  const isSure = await confirmDialog({ title: words.unsavedTitle, text: words.unsaved, action: words.leave });
  // Asked once is enough.
  if (isSure)
    for (const [element, { discard }] of unsaved()) {
      writers.delete(element);
      discard();
    }
  return isSure;
}
