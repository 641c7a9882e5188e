// Messages that the server has not acknowledged yet. They survive a reload and are resent under the same id, so that the server
// can tell a repetition from a new message. Rejected ones stay until the user decides.

/** @import { Attachment, Effort } from "./types.js" */
/**
 * @typedef {{id: string, session: string, text: string, attachments: Attachment[], at: string, model?: string, effort?: Effort,
 *   refused?: string}} Unsent `refused` says why the server rejected it; then it is not resent automatically
 */

const key = "aethon.outbox";

export class Outbox {
  /** @type {Map<string, Unsent>} */ #entries = new Map();
  #storage;

  /** @param {Pick<Storage, "getItem" | "setItem"> | null} storage */
  constructor(storage) {
    this.#storage = storage;
    try {
      for (const entry of JSON.parse(storage?.getItem(key) ?? "[]")) this.#entries.set(entry.id, entry);
    } catch {
      // An entry of another version is not ours to send.
    }
  }

  /** @param {Unsent} entry */
  add(entry) {
    this.#entries.set(entry.id, entry);
    this.#save();
  }

  /** @param {string} id */
  remove(id) {
    if (this.#entries.delete(id)) this.#save();
  }

  /** Records that the server rejected it. @param {string} id @param {string} why */
  refuse(id, why) {
    const entry = this.#entries.get(id);
    if (!entry) return;
    entry.refused = why;
    this.#save();
  }

  /** The messages still to be sent. @param {string} session @returns {Unsent[]} */
  unsent(session) {
    return this.of(session).filter((entry) => !entry.refused);
  }

  /** All messages in the order they were written. @param {string} session @returns {Unsent[]} */
  of(session) {
    return [...this.#entries.values()].filter((entry) => entry.session === session);
  }

  /** Moves the messages of a conversation to another. @param {string} from @param {string} to */
  move(from, to) {
    const moved = this.of(from);
    for (const entry of moved) entry.session = to;
    if (moved.length > 0) this.#save();
  }

  #save() {
    const all = [...this.#entries.values()].map((entry) => ({ ...entry, attachments: entry.attachments.map(light) }));
    try {
      this.#storage?.setItem(key, JSON.stringify(all));
    } catch {
      // Pictures may not fit into the storage; they stay in memory and are lost only on a reload.
      const short = all.filter((entry) => entry.attachments.every((file) => file.upload));
      try {
        this.#storage?.setItem(key, JSON.stringify(short));
      } catch {
        // Nothing fits; the messages are still in memory.
      }
    }
  }
}

/** The storage of this tab; `null` where the browser has none. */
export function sessionStorageOrNull() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

/** A file as it is kept over a reload: without what the server has already. @param {Attachment} file @returns {Attachment} */
export const light = (file) => (file.upload ? { ...file, data: undefined } : file);

/** A unique name. `randomUUID` exists on secure origins only, and a home network is not one. */
export function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return [...bytes].map((byte) => byte.toString(36).padStart(2, "0")).join("");
}
