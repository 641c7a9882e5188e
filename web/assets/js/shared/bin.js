// Deletes conversations with a way back: the question before, "Undo" after, and the bin itself.

import { texts } from "../texts.js";
import { binWords as words } from "../texts/bin.js";
import { request } from "./api.js";
import { button, iconButton } from "./controls.js";
import { confirmDialog, openDialog } from "./dialog.js";
import { fill, make } from "./dom.js";
import { timeElement } from "./time.js";
import { toast } from "./toast.js";
import { visible, visibleText } from "./visible.js";

/** @import { Bin, BinnedSession, SessionDone } from "../wire/api.js" */
/** @import { Path } from "./api.js" */

/** How long a deletion can be undone from the message about it. */
const undoMs = 30000;

/** What takes the focus if nothing else does: the panel of the dashboard, or the transcript of the chat. */
const restingPlaces = "#content, .transcript";

/** How many conversations of the bin are read at a time. */
const pageSize = 50;

/** @param {string} id @returns {Path<SessionDone>} */
const restorePath = (id) => `/api/sessions/${encodeURIComponent(id)}/restore`;

const binPath = "/api/sessions/bin";

/** @param {number} limit @param {string} cursor @returns {Path<Bin>} */
const pageOf = (limit, cursor) => `${binPath}?limit=${limit}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;

/** How many days a deleted conversation stays; 0 if there is no bin. */
async function keepDays() {
  try {
    return (await request(pageOf(1, ""))).keep_days;
  } catch {
    return 0;
  }
}

/**
 * Asks whether to delete something.
 * @param {{title: string, what: string, noWayBack?: string}} options `what`: the titles, or how many there are
 * @returns {Promise<"" | "bin" | "now">} "now": for good
 */
export async function askToDelete({ title, what, noWayBack = words.noWayBack(what) }) {
  const days = await keepDays();
  if (days === 0) return (await confirmDialog({ title, text: noWayBack, action: words.remove })) ? "now" : "";
  return new Promise((resolve) => {
    let answer = /** @type {"" | "bin" | "now"} */ ("");
    const choose = (/** @type {"bin" | "now"} */ chosen) => () => {
      answer = chosen;
      dialog.close();
    };
    const cancel = button({ label: texts.dialog.cancel, press: () => dialog.close() });
    const dialog = openDialog({
      title,
      body: [make("p", {}, ...visible(words.question(what, days)))],
      actions: [
        cancel,
        button({ label: words.removeNow, look: "button-quiet", press: choose("now") }),
        button({ label: words.remove, look: "button-danger", press: choose("bin") }),
      ],
    });
    dialog.addEventListener("close", () => resolve(answer));
    cancel.focus();
  });
}

/**
 * Says what was deleted, and offers the way back.
 * @param {string[]} ids @param {"bin" | "now"} how @param {(restored: Map<string, string>) => (void | Promise<void>)} [after] gets the
 *   ids of what came back, and those that they have now
 */
export function sayDeleted(ids, how, after = () => {}) {
  if (how === "now") return toast(words.removedNow(ids.length));
  const undo = async () => {
    /** @type {Map<string, string>} the ids before and after */
    const restored = new Map();
    for (const id of ids)
      try {
        restored.set(id, (await request(restorePath(id), { method: "POST" })).session_id);
      } catch (problem) {
        toast(words.failed(/** @type {Error} */ (problem).message));
      }
    if (restored.size > 0) toast(words.restored(restored.size));
    await after(restored);
    // The button that was pressed is gone, and may have taken the focus along.
    if (document.activeElement === document.body)
      /** @type {HTMLElement | null} */ (document.querySelector(restingPlaces))?.focus({ preventScroll: true });
  };
  toast(words.removed(ids.length), { label: words.undo, press: () => void undo(), ms: undoMs });
}

/** Shows the bin. @param {() => void} [after] called when something came back */
export function openBin(after = () => {}) {
  const place = make("div", { class: "bin" });
  const dialog = openDialog({ title: words.title, body: [place], look: "dialog-wide" });
  void new BinDialog(place, () => dialog.close(), after).load();
}

class BinDialog {
  #lead = make("p", { class: "field-hint" });
  #status = make("p", { role: "status" }, words.loading);
  #list = make("ul", { class: "bin-list", role: "list" });
  #more = button({ label: words.more, look: "button-small button-quiet", press: () => void this.load(this.#cursor) });
  #empty = button({ label: words.empty, look: "button-danger", press: () => void this.#emptyIt() });
  #close;
  #after;
  #cursor = "";
  #count = 0;

  /** @param {HTMLElement} place @param {() => void} close @param {() => void} after */
  constructor(place, close, after) {
    this.#close = button({ label: words.close, press: close });
    this.#after = after;
    this.#more.hidden = this.#empty.hidden = true;
    fill(place, this.#lead, this.#status, this.#list, this.#more, make("div", { class: "dialog-actions" }, this.#empty, this.#close));
    this.#close.focus();
  }

  /** @param {string} [cursor] */
  async load(cursor = "") {
    try {
      const page = await request(pageOf(pageSize, cursor));
      if (!cursor) fill(this.#list);
      this.#list.append(...page.sessions.map((session) => this.#row(session)));
      this.#lead.textContent = words.lead(page.keep_days);
      this.#cursor = page.next_cursor ?? "";
      this.#show(page.count);
    } catch (problem) {
      this.#say(words.failed(/** @type {Error} */ (problem).message));
    }
  }

  /** @param {number} count */
  #show(count) {
    this.#count = count;
    this.#more.hidden = !this.#cursor;
    this.#empty.hidden = count === 0;
    this.#say(count === 0 ? words.none : "");
  }

  /** @param {string} text */
  #say(text) {
    this.#status.textContent = text;
    this.#status.hidden = text === "";
  }

  /** @param {BinnedSession} session */
  #row(session) {
    const title = session.title?.trim() || words.untitled;
    const path = `${binPath}/${session.bin_id}`;
    const row = make(
      "li",
      { class: "bin-row" },
      make(
        "div",
        { class: "bin-what" },
        make("span", { class: "bin-title", dir: "auto" }, ...visible(title)),
        timeElement(session.deleted_at, "session-time"),
      ),
      iconButton({
        label: words.restoreOne(visibleText(title)),
        icon: "retry",
        press: () =>
          void this.#take(row, async () => {
            await request(`${path}/restore`, { method: "POST" });
            toast(words.restored(1));
            this.#after();
          }),
      }),
      iconButton({
        label: words.removeOne(visibleText(title)),
        icon: "trash",
        press: () =>
          void this.#take(row, async () => {
            await request(path, { method: "DELETE" });
            toast(words.removedNow(1));
          }),
      }),
    );
    return row;
  }

  /** Does something with a conversation that leaves the bin by it. @param {HTMLElement} row @param {() => Promise<void>} action */
  async #take(row, action) {
    try {
      await action();
    } catch (problem) {
      toast(words.failed(/** @type {Error} */ (problem).message));
      return void this.load();
    }
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    /** @type {HTMLElement} */ (next?.querySelector("button") ?? this.#close).focus();
    this.#show(Math.max(0, this.#count - 1));
  }

  async #emptyIt() {
    const isSure = await confirmDialog({
      title: words.emptyTitle,
      text: words.emptyText(this.#count),
      action: words.removeNow,
    });
    if (!isSure) return;
    try {
      await request(binPath, { method: "DELETE" });
      toast(words.emptied);
    } catch (problem) {
      toast(words.failed(/** @type {Error} */ (problem).message));
    }
    await this.load();
    this.#close.focus();
  }
}
