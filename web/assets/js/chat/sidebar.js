// The list of conversations: search, pin, rename, delete. It is reloaded when something has happened, and stays as it is if the
// server does not answer.

import { Problem, exchange, request } from "../shared/api.js";
import { now as serverNow } from "../shared/clock.js";
import { button, iconButton, skeleton, themeSwitch } from "../shared/controls.js";
import { confirmDialog } from "../shared/dialog.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { rowMenu } from "../shared/menu.js";
import { removeShared } from "../shared/remove-shared.js";
import { renameShared } from "../shared/rename-shared.js";
import { SharedItem } from "../shared/shared-item.js";
import { recall, remember } from "../shared/storage.js";
import { timeElement } from "../shared/time.js";
import { toast } from "../shared/toast.js";
import { visible, visibleText } from "../shared/visible.js";
import { texts } from "../texts.js";
import { conflictWords } from "../texts/conflict.js";
import { grouped, nameOf, titleOf } from "./grouping.js";
import { hrefOf } from "./route.js";

/** @import { Listed } from "./grouping.js" */
/** @import { Approval } from "../wire/api.js" */

const pinKey = "aethon.pinned";
const words = texts.sidebar;

/**
 * @typedef {{newChat: () => void, close: () => void, help: () => void, removed: (name: string) => void, listed: () =>
 *   void, denied: () => void}} SidebarActions
 */

export class Sidebar {
  element;
  #actions;
  #list = make("nav", { class: "sessions", "aria-label": words.label });
  #dashboard = make(
    "a",
    { class: "icon-button", href: "/dashboard", "aria-label": words.dashboard, title: words.dashboard },
    icon("gauge"),
  );
  #search = make("input", {
    class: "input",
    type: "search",
    placeholder: words.search,
    "aria-label": words.search,
    autocomplete: "off",
    spellcheck: "false",
  });
  /** @type {Listed[]} */ #sessions = [];
  /** @type {Map<string, string>} Every title ever listed, because a search may exclude the open conversation. */ #titles =
    new Map();
  /** @type {Set<string>} */ #waiting = new Set();
  #cursor = "";
  #query = "";
  #current = "";
  #pinned = new Set(JSON.parse(recall(pinKey) ?? "[]"));
  #asked = 0;
  #state = /** @type {"loading" | "ready" | "failed" | "off"} */ ("loading");

  /** @param {SidebarActions} actions */
  constructor(actions) {
    this.#actions = actions;
    let timer = 0;
    this.#search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.#query = this.#search.value.trim();
        void this.refresh();
      }, 180);
    });
    this.#search.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing || !this.#search.value) return;
      event.preventDefault();
      this.#search.value = "";
      this.#search.dispatchEvent(new Event("input"));
    });
    this.element = make(
      "aside",
      { class: "sidebar", id: "sidebar", "aria-label": words.label },
      make(
        "div",
        { class: "sidebar-head" },
        make(
          "span",
          { class: "brand" },
          make("img", { src: iconAddress(), alt: "", width: 24, height: 24 }),
          texts.product,
        ),
        iconButton({ label: words.close, icon: "close", look: "drawer-close", press: actions.close }),
      ),
      make(
        "div",
        { class: "sidebar-tools" },
        button({ label: words.newChat, icon: "plus", press: actions.newChat }),
        make("div", { class: "search" }, icon("search"), this.#search),
      ),
      this.#list,
      make(
        "div",
        { class: "sidebar-foot" },
        themeSwitch(),
        this.#dashboard,
        iconButton({ label: words.help, icon: "keyboard", press: actions.help }),
      ),
    );
    fill(this.#list, skeleton(6));
  }

  focusFirst() {
    [...this.element.querySelectorAll("button")].find((control) => control.checkVisibility())?.focus();
  }

  focusSearch() {
    this.#search.focus();
    this.#search.select();
  }

  /** Empties the list for a user who is not signed in. */
  clear() {
    this.#asked += 1;
    this.#sessions = [];
    this.#state = "loading";
    fill(this.#list);
  }

  /** @param {string} name */
  setCurrent(name) {
    this.#current = name;
    this.#draw();
  }

  /** @param {string} name @returns {string} */
  title(name) {
    return this.#titles.get(name) ?? "";
  }

  /** Whether lists and transcripts are unavailable; they belong to the dashboard. */
  get isOff() {
    return this.#state === "off";
  }

  /** Whether a conversation was in the list but no longer is. @param {string} name */
  misses(name) {
    const isWhole = this.#state === "ready" && !this.#query;
    return isWhole && this.#titles.has(name) && !this.#sessions.some((session) => nameOf(session) === name);
  }

  /** Reloads the list. */
  async refresh() {
    this.#asked += 1;
    const asked = this.#asked;
    try {
      // A search may exclude new conversations, whose titles are needed all the same.
      const newest = this.#query ? request("/api/sessions?limit=20&channel=webchat") : { sessions: [] };
      const [list, approvals, { sessions }] = await Promise.all([
        this.#fetch(""),
        request("/api/approvals").catch(() => ({})),
        newest,
      ]);
      if (asked !== this.#asked) return;
      this.#sessions = list;
      for (const session of [...sessions, ...list]) this.#titles.set(nameOf(session), titleOf(session));
      this.#waiting = new Set(
        (approvals.approvals ?? []).map((/** @type {Approval} */ approval) => approval.session_id),
      );
      this.#state = "ready";
    } catch (problem) {
      if (asked !== this.#asked) return;
      const status = problem instanceof Problem ? problem.status : 0;
      if (status === 401) this.#actions.denied();
      this.#state = status === 404 ? "off" : "failed";
    }
    this.#draw();
    this.#actions.listed();
  }

  /** Loads pages until there are enough conversations of this page's own channel. @param {string} cursor */
  async #fetch(cursor) {
    /** @type {Listed[]} */
    const found = [];
    for (let round = 0; round < 4 && found.length < 40; round += 1) {
      const parameters = new URLSearchParams({ limit: "100", channel: "webchat" });
      if (cursor) parameters.set("cursor", cursor);
      if (this.#query) parameters.set("q", this.#query);
      const page = await request(`/api/sessions?${parameters}`);
      found.push(
        ...(page.sessions ?? []).filter((/** @type {Listed} */ session) => session.session_id.startsWith("webchat:")),
      );
      cursor = page.next_cursor ?? "";
      if (!cursor) break;
    }
    this.#cursor = cursor;
    return found;
  }

  async #more() {
    try {
      this.#sessions = [...this.#sessions, ...(await this.#fetch(this.#cursor))];
    } catch {
      toast(words.failed);
    }
    this.#draw();
  }

  #draw() {
    this.#dashboard.hidden = this.isOff;
    if (this.#state === "loading" || this.#list.querySelector("[aria-expanded=true]")) return;
    const focused = /** @type {HTMLElement | null} */ (
      this.#list.contains(document.activeElement) ? document.activeElement : null
    );
    const focusName = focused?.closest("li")?.dataset.name;
    const wasOptions = focused?.tagName === "BUTTON";
    const groups = grouped(this.#sessions, this.#pinned, new Date(serverNow()));
    fill(
      this.#list,
      this.#state === "failed" &&
        make(
          "div",
          { class: "sidebar-note", role: "status" },
          words.failed,
          button({ label: texts.error.again, look: "button-small", press: () => void this.refresh() }),
        ),
      this.#state === "off" && make("p", { class: "sidebar-note" }, words.historyOff),
      this.#state === "ready" &&
        groups.length === 0 &&
        make("p", { class: "sidebar-note", role: "status" }, this.#query ? words.nothingFound : words.none),
      ...groups.flatMap(({ label, sessions }) => [
        make("h2", {}, label),
        make("ul", { role: "list" }, ...sessions.map((session) => this.#row(session))),
      ]),
      this.#cursor && button({ label: words.more, look: "button-small button-quiet", press: () => void this.#more() }),
    );
    if (!focusName) return;
    const row = [...this.#list.querySelectorAll("li")].find((item) => item.dataset.name === focusName);
    /** @type {HTMLElement | null} */ (row?.querySelector(wasOptions ? "button" : "a") ?? null)?.focus();
  }

  /** @param {Listed} session */
  #row(session) {
    const name = nameOf(session);
    const title = titleOf(session);
    const isCurrent = name === this.#current;
    const isPinned = this.#pinned.has(name);
    const options = rowMenu(words.options(visibleText(title)), () => [
      { label: isPinned ? texts.session.unpin : texts.session.pin, icon: "pin", press: () => this.#pin(name) },
      { label: texts.session.rename, icon: "edit", press: () => void this.#rename(session) },
      { label: texts.session.remove, icon: "trash", danger: true, press: () => void this.#remove(session) },
    ]);
    return make(
      "li",
      { class: "session", data: { name, ...(isCurrent ? { current: "" } : {}) } },
      make(
        "a",
        { href: hrefOf(name), "aria-current": isCurrent ? "page" : undefined, title: visibleText(title) },
        make("span", { class: "session-title" }, ...visible(title)),
        this.#mark(session),
        timeElement(session.updated_at, "session-time"),
      ),
      options,
    );
  }

  /** @param {Listed} session */
  #mark(session) {
    if (this.#waiting.has(session.session_id))
      return make("span", { class: "badge", data: { tone: "warn" } }, words.waits);
    if (session.busy) return make("span", { class: "session-busy", role: "img", "aria-label": words.busy });
    return null;
  }

  /** @param {string} name */
  #pin(name) {
    if (!this.#pinned.delete(name)) this.#pinned.add(name);
    remember(pinKey, JSON.stringify([...this.#pinned]));
    this.#draw();
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
      if (renamed?.isGone) return this.#missed();
      if (!renamed) return;
      const { title, dropped } = renamed;
      if (dropped)
        toast(conflictWords.tookTitle(title), {
          label: conflictWords.putBack,
          press: () => void this.#rename(session, dropped),
        });
      session.title = renamed.title;
      this.#titles.set(nameOf(session), renamed.title);
    } catch (problem) {
      toast(`${texts.session.renameFailed} ${/** @type {Error} */ (problem).message}`);
    }
    this.#draw();
    this.#actions.listed();
  }

  /**
   * Reads a conversation with its version, for a change of it.
   * @param {Listed} session
   * @returns {Promise<SharedItem | null>} null if it is gone
   */
  async #read(session) {
    const path = `/api/sessions/${encodeURIComponent(session.session_id)}`;
    const item = new SharedItem(exchange, path, `${path}?limit=1`);
    const answer = await item.peek();
    if (answer) item.take(answer);
    else this.#missed();
    return answer && item;
  }

  /** It was deleted elsewhere. */
  #missed() {
    toast(conflictWords.goneAlready);
    void this.refresh();
  }

  /** @param {Listed} session */
  async #remove(session) {
    const item = await this.#read(session).catch((problem) => {
      toast(`${texts.session.removeFailed} ${problem.message}`);
      return null;
    });
    if (!item) return;
    const isSure = await confirmDialog({
      title: texts.session.removeTitle,
      text: texts.session.removeBody(titleOf(session)),
      action: texts.session.remove,
    });
    if (!isSure) return;
    try {
      const { title } = item.value;
      if (!(await removeShared(item, { name: `“${titleOf(session)}”`, isSame: (present) => present.title === title })))
        return;
    } catch (problem) {
      toast(`${texts.session.removeFailed} ${/** @type {Error} */ (problem).message}`);
      return;
    }
    this.#sessions = this.#sessions.filter((other) => other !== session);
    this.#titles.delete(nameOf(session));
    this.#draw();
    this.focusFirst();
    toast(texts.session.removed);
    this.#actions.removed(nameOf(session));
  }
}

/** The icon from the page's own head, so that its address has the same hash. */
export function iconAddress() {
  return document.querySelector('link[rel="icon"]')?.getAttribute("href") ?? "";
}
