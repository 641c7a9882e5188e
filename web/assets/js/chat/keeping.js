// What can be done with a conversation of the list: pin, rename, move to a folder, archive, save as a file, delete.

import { Problem, exchange, request, sessionPath } from "../shared/api.js";
import { askToDelete, sayDeleted } from "../shared/bin.js";
import { promptDialog } from "../shared/prompt.js";
import { removeShared } from "../shared/remove-shared.js";
import { renameShared } from "../shared/rename-shared.js";
import { SharedItem } from "../shared/shared-item.js";
import { recall, remember } from "../shared/storage.js";
import { toast } from "../shared/toast.js";
import { texts } from "../texts.js";
import { binWords } from "../texts/bin.js";
import { conflictWords } from "../texts/conflict.js";
import { keepingWords as words } from "../texts/keeping.js";
import { selectionWords as many } from "../texts/several.js";
import { titleOf } from "./grouping.js";

/** @import { MenuItem } from "../shared/menu.js" */
/** @import { Path } from "../shared/api.js" */
/** @import { Session } from "../wire/api.js" */
/** @import { Listed } from "./grouping.js" */
/** @typedef {Pick<Listed, "pinned" | "archived" | "folder">} Place */
/**
 * @typedef {{changed: (session: Listed) => void, missed: () => void, removed: (session: Listed) => boolean,
 *   restored: (ids: string[], open?: string) => Promise<void>}} KeepingActions `missed`: it was deleted elsewhere; `removed` returns
 *   whether it was the open one, which is `open` when it comes back
 */

/** Where pages of earlier versions kept what was pinned in this browser. */
const pinKey = "aethon.pinned";

export class Keeping {
  #actions;
  #isAdopting = false;

  /** @param {KeepingActions} actions */
  constructor(actions) {
    this.#actions = actions;
  }

  /**
   * The menu of a conversation.
   * @param {Listed} session @param {string[]} folders those in use @param {MenuItem} select begins a selection
   * @returns {MenuItem[]}
   */
  items(session, folders, select) {
    const { pinned = false, archived = false } = session;
    return [
      {
        label: pinned ? texts.session.unpin : texts.session.pin,
        icon: "pin",
        press: () => void this.#set(session, { pinned: !pinned }),
      },
      { label: texts.session.rename, icon: "edit", press: () => void this.#rename(session) },
      { label: words.move, icon: "folder", press: () => void this.#move(session, folders) },
      { label: archived ? words.unarchive : words.archive, icon: "archive", press: () => void this.#archive(session, !archived) },
      { label: words.saveMarkdown, icon: "download", press: () => save(session, "markdown") },
      { label: words.saveJson, icon: "download", press: () => save(session, "json") },
      select,
      { label: texts.session.remove, icon: "trash", danger: true, press: () => void this.#remove(session) },
    ];
  }

  /** @param {Listed[]} sessions */
  async archiveAll(sessions) {
    const changed = await this.#setAll(sessions.filter(({ archived }) => !archived), { archived: true });
    if (changed.length === 0) return;
    toast(many.archived(changed.length), { label: words.undo, press: () => void this.#setAll(changed, { archived: false }) });
  }

  /** @param {Listed[]} sessions @param {string[]} folders those in use @returns {Promise<boolean>} whether a folder was chosen */
  async moveAll(sessions, folders) {
    const common = new Set(sessions.map(({ folder }) => folder ?? ""));
    const folder = await this.#askFolder(common.size === 1 ? [...common][0] : "", folders);
    if (folder !== null) await this.#setAll(sessions, { folder: folder || null });
    return folder !== null;
  }

  /** @param {Listed[]} sessions @returns {Promise<boolean>} whether the user was sure */
  async removeAll(sessions) {
    const how = await askToDelete({
      title: many.removeTitle(sessions.length),
      what: many.what(sessions.length),
      noWayBack: many.removeBody,
    });
    if (how === "") return false;
    const [gone, failed] = await settle(sessions, (session) => request(pathOf(session) + queryOf(how), { method: "DELETE" }));
    if (failed) toast(many.someFailed(sessions.length - gone.length, failed));
    if (gone.length > 0) this.#gone(gone, how);
    return true;
  }

  /** Takes deleted conversations out of the list, and offers the way back. @param {Listed[]} sessions @param {"bin" | "now"} how */
  #gone(sessions, how) {
    const open = sessions.filter((session) => this.#actions.removed(session)).at(0);
    const ids = sessions.map(({ session_id }) => session_id);
    sayDeleted(ids, how, (restored) => this.#actions.restored([...restored.values()], open && restored.get(open.session_id)));
  }

  /** @param {Listed[]} sessions @param {Place} place @returns {Promise<Listed[]>} those that were changed */
  async #setAll(sessions, place) {
    const [changed, failed] = await settle(sessions, (session) => request(pathOf(session), { method: "PATCH", body: place }));
    for (const session of changed) {
      Object.assign(session, place);
      this.#actions.changed(session);
    }
    if (failed) toast(many.someFailed(sessions.length - changed.length, failed));
    return changed;
  }

  /** Gives the server what was pinned in this browser only. What it does not take is tried again at the next visit. */
  async adoptPins() {
    const kept = recall(pinKey);
    if (!kept || this.#isAdopting) return;
    this.#isAdopting = true;
    const left = [];
    for (const name of JSON.parse(kept)) {
      const pin = request(sessionPath(name), { method: "PATCH", body: { pinned: true } });
      if (await pin.then(() => false, (problem) => problem.status !== 404)) left.push(name);
    }
    remember(pinKey, left.length > 0 ? JSON.stringify(left) : null);
  }

  /**
   * Changes where a conversation stands. It moves at once, and back if the server does not take it.
   * @param {Listed} session @param {Place} place @returns {Promise<boolean>} whether it was taken
   */
  async #set(session, place) {
    const before = Object.fromEntries(Object.keys(place).map((key) => [key, session[/** @type {keyof Place} */ (key)]]));
    Object.assign(session, place);
    this.#actions.changed(session);
    try {
      await request(pathOf(session), { method: "PATCH", body: place });
      return true;
    } catch (problem) {
      Object.assign(session, before);
      this.#actions.changed(session);
      toast(words.failed(/** @type {Error} */ (problem).message));
      return false;
    }
  }

  /** @param {Listed} session @param {string[]} folders */
  async #move(session, folders) {
    const folder = await this.#askFolder(session.folder ?? "", folders);
    if (folder !== null && folder !== (session.folder ?? "")) await this.#set(session, { folder: folder || null });
  }

  /** @param {string} value @param {string[]} folders */
  #askFolder(value, folders) {
    return promptDialog({
      title: words.moveTitle,
      label: words.moveLabel,
      value,
      hint: words.moveHint,
      suggestions: folders,
      mayBeEmpty: true,
    });
  }

  /** @param {Listed} session @param {boolean} archived */
  async #archive(session, archived) {
    if (!(await this.#set(session, { archived })) || !archived) return;
    toast(words.archiveDone(titleOf(session)), {
      label: words.undo,
      press: () => void this.#set(session, { archived: false }),
    });
  }

  /** @param {Listed} session @param {string} [value] the title to begin with, if it is not the present one */
  async #rename(session, value) {
    try {
      const item = await this.#read(session);
      const renamed =
        item &&
        (await renameShared(item, {
          title: texts.session.renameTitle,
          label: texts.session.renameLabel,
          value: value ?? titleOf({ ...session, ...item.value }),
        }));
      if (renamed?.isGone) return this.#actions.missed();
      if (!renamed) return;
      const { title, dropped } = renamed;
      if (dropped)
        toast(conflictWords.tookTitle(title), {
          label: conflictWords.putBack,
          press: () => void this.#rename(session, dropped),
        });
      session.title = title;
    } catch (problem) {
      toast(`${texts.session.renameFailed} ${/** @type {Error} */ (problem).message}`);
    }
    this.#actions.changed(session);
  }

  /**
   * Reads a conversation with its version, for a change of it.
   * @param {Listed} session
   * @returns {Promise<SharedItem<Session> | null>} null if it is gone
   */
  async #read(session) {
    const path = pathOf(session);
    const item = new SharedItem(exchange, path, `${path}?limit=1`);
    const answer = await item.peek();
    if (answer) item.take(answer);
    else this.#actions.missed();
    return answer && item;
  }

  /** @param {Listed} session */
  async #remove(session) {
    const item = await this.#read(session).catch((problem) => {
      toast(`${texts.session.removeFailed} ${problem.message}`);
      return null;
    });
    if (!item) return;
    const name = binWords.titled(titleOf(session));
    const how = await askToDelete({ title: texts.session.removeTitle, what: name });
    if (how === "") return;
    try {
      const { title } = item.known;
      const isSame = (/** @type {Session} */ present) => present.title === title;
      if (!(await removeShared(item, { name, isSame, query: queryOf(how) }))) return;
    } catch (problem) {
      toast(`${texts.session.removeFailed} ${/** @type {Error} */ (problem).message}`);
      return;
    }
    this.#gone([session], how);
  }
}

/** @param {"bin" | "now"} how */
const queryOf = (how) => (how === "now" ? "?now=true" : "");

/** @param {Listed} session @returns {Path<Session>} */
const pathOf = (session) => `/api/sessions/${encodeURIComponent(session.session_id)}`;

/**
 * Changes conversations one after the other. One that is gone counts as changed.
 * @param {Listed[]} sessions @param {(session: Listed) => Promise<unknown>} change
 * @returns {Promise<[Listed[], string]>} those that were changed, and why the last of the others was not
 */
async function settle(sessions, change) {
  const changed = [];
  let failed = "";
  for (const session of sessions) {
    try {
      await change(session);
      changed.push(session);
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 404) changed.push(session);
      else failed = /** @type {Error} */ (problem).message;
    }
  }
  return [changed, failed];
}

/** Has the browser save a conversation as a file. @param {Listed} session @param {"markdown" | "json"} format */
function save(session, format) {
  const link = document.createElement("a");
  link.href = `${pathOf(session)}/export?format=${format}`;
  link.download = "";
  link.click();
}
