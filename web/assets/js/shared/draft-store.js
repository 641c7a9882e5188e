// Drafts of forms: what was typed and not saved, by the item that it is about and the tab that it was typed in. They outlive a
// reload, a closed window and a browser that crashed. A tab writes its own drafts only, so two that edit the same item do not
// overwrite each other's.

import { recall, remember } from "./storage.js";

/**
 * @typedef {Record<string, string>} Values the texts of a form's fields by their names
 * @typedef {{values: Values, base: Values, at: number, tab: string}} Draft `base`: what stood in the fields before
 */

const prefix = "aethon.form.";
const tabKey = "aethon.tab";
/** How many drafts are kept; the oldest make room. */
const MOST = 30;
/** How long one is kept. */
const LONGEST = 30 * 86400000;

/** The name of this tab, which stays the same over a reload. */
function tab() {
  try {
    const known = sessionStorage.getItem(tabKey);
    if (known) return known;
    const fresh = Math.random().toString(36).slice(2, 12);
    sessionStorage.setItem(tabKey, fresh);
    return fresh;
  } catch {
    return "";
  }
}

/** @param {string} item */
const keyOf = (item) => `${prefix}${item}#${tab()}`;

/** @returns {string[]} */
function keys() {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  } catch {
    return [];
  }
}

/** @param {string} key @returns {Draft | null} */
function readAt(key) {
  try {
    const { values, base, at } = JSON.parse(recall(key) ?? "");
    const isWhole = typeof at === "number" && typeof values === "object" && values && typeof base === "object" && base;
    return isWhole ? { values, base, at, tab: key.slice(key.lastIndexOf("#") + 1) } : null;
  } catch {
    return null;
  }
}

/**
 * The draft of an item: this tab's, else the newest of another.
 * @param {string} item @returns {(Draft & {isOwn: boolean}) | null}
 */
export function draftOf(item) {
  const own = readAt(keyOf(item));
  if (own) return { ...own, isOwn: true };
  const others = keys()
    .filter((key) => key.slice(0, key.lastIndexOf("#")) === prefix + item)
    .map(readAt)
    .filter((draft) => draft !== null);
  const [newest] = others.sort((one, other) => other.at - one.at);
  return newest ? { ...newest, isOwn: false } : null;
}

/** The items that begin like this and have a draft of this tab. @param {string} beginning */
export const draftedItems = (beginning) =>
  keys()
    .filter((key) => key.startsWith(prefix + beginning) && key.endsWith(`#${tab()}`))
    .map((key) => key.slice(prefix.length, key.lastIndexOf("#")));

/** Keeps the draft of this tab. @param {string} item @param {Values} values @param {Values} base */
export function keepDraft(item, values, base) {
  const now = Date.now();
  const key = keyOf(item);
  if (recall(key) === null) {
    const old = keys()
      .map((other) => ({ other, at: readAt(other)?.at ?? 0 }))
      .sort((one, other) => other.at - one.at);
    for (const [index, { other, at }] of old.entries())
      if (index >= MOST - 1 || now - at > LONGEST) remember(other, null);
  }
  remember(key, JSON.stringify({ values, base, at: now }));
}

/** Forgets the draft of an item that this tab typed, or the one that another did. @param {string} item @param {string} [of] */
export const dropDraft = (item, of = tab()) => remember(`${prefix}${item}#${of}`, null);

/** Forgets all drafts: who signs out leaves nothing behind. */
export function dropDrafts() {
  for (const key of keys()) remember(key, null);
}
