// The list of conversations, and the search in it. The server tells of every conversation that changes; the list is
// reloaded when a connection begins, and stays as it is if the server does not answer.

import { at } from "../shared/base.js";
import { Problem, request } from "../shared/api.js";
import { now as serverNow } from "../shared/clock.js";
import { openBin } from "../shared/bin.js";
import { button, iconButton, skeleton, themeSwitch } from "../shared/controls.js";
import { arrange, fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { languageChoice } from "../shared/language-choice.js";
import { rowMenu } from "../shared/menu.js";
import { timeElement } from "../shared/time.js";
import { toast } from "../shared/toast.js";
import { visible, visibleText } from "../shared/visible.js";
import { texts } from "../texts.js";
import { binWords } from "../texts/bin.js";
import { conflictWords } from "../texts/conflict.js";
import { foundWords } from "../texts/found.js";
import { findMessages, foundRow } from "./found-messages.js";
import { keepingWords } from "../texts/keeping.js";
import { newsWords } from "../texts/news.js";
import { selectionWords } from "../texts/several.js";
import { temporaryWords } from "../texts/temporary.js";
import { archivedOf, foldersOf, forgetGone, grouped, nameOf, titleOf } from "./grouping.js";
import { Keeping } from "./keeping.js";
import { notifySwitch } from "./news.js";
import { hrefOf } from "./route.js";
import { iconAddress } from "./page-icon.js";
import { Selection } from "./selection.js";
import { UnreadGroup } from "./unread-group.js";

/** @import { Listed } from "./grouping.js" */
/** @import { Before } from "./news.js" */
/** @import { SessionNews } from "./types.js" */
/** @import { FoundMessage, SessionList } from "../wire/api.js" */
/** @import { Path } from "../shared/api.js" */

const words = texts.sidebar;

/** @param {Record<string, string>} query @returns {Path<SessionList>} */
const listPath = (query) => `/api/sessions?${new URLSearchParams({ channel: "webchat", ...query })}`;

/** @type {{hits: FoundMessage[], cursor: string}} */
const none = { hits: [], cursor: "" };

/**
 * @typedef {{element: HTMLElement, link: HTMLAnchorElement, options: HTMLElement, check: HTMLInputElement, shows: string}} Row
 *   a row, and what it shows
 * @typedef {{newChat: () => void, newTemporary: () => void, close: () => void, help: () => void, removed: (name: string) => void, listed: () =>
 *   void, denied: () => void, visit: () => void}} SidebarActions
 */

export class Sidebar {
  element;
  #actions;
  #list = make("nav", { class: "sessions", "aria-label": words.label });
  #dashboard = make(
    "a",
    { class: "icon-button", href: at("/dashboard"), "aria-label": words.dashboard, title: words.dashboard },
    icon("gauge"),
  );
  #bin = iconButton({ label: binWords.open, icon: "trash", press: () => openBin(() => void this.#restored()) });
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
  /** @type {Map<string, Before>} The last known state of every conversation by its id, those of other channels included. */
  #known = new Map();
  #cursor = "";
  /** The reload that is running, or the last one. */
  #refreshing = Promise.resolve();
  /** @type {FoundMessage[]} */ #found = [];
  /** @type {FoundMessage[]} The messages as they are drawn, in these elements. */ #drawn = [];
  /** @type {HTMLElement[]} */ #hits = [];
  #foundCursor = "";
  #query = "";
  #current = "";
  #keeping = new Keeping({
    changed: (session) => {
      this.#titles.set(nameOf(session), titleOf(session));
      this.#draw();
      this.#actions.listed();
    },
    missed: () => {
      toast(conflictWords.goneAlready);
      void this.refresh();
    },
    removed: (session) => {
      this.#sessions = this.#sessions.filter((other) => other.session_id !== session.session_id);
      this.#titles.delete(nameOf(session));
      this.#draw();
      this.focusFirst();
      const wasOpen = nameOf(session) === this.#current;
      this.#actions.removed(nameOf(session));
      return wasOpen;
    },
    restored: (ids, open) => this.#restored(ids, open),
  });
  #selection = new Selection({
    changed: () => this.#draw(),
    order: () => [...this.#list.querySelectorAll("li.session")].map((row) => /** @type {HTMLElement} */ (row).dataset.name ?? ""),
    archive: (names) => void this.#keeping.archiveAll(this.#named(names)).then(() => this.#selection.end()),
    move: (names) => void this.#keeping.moveAll(this.#named(names), foldersOf(this.#sessions)).then((isDone) => isDone && this.#selection.end()),
    remove: (names) => void this.#keeping.removeAll(this.#named(names)).then((isDone) => isDone && this.#selection.end()),
  });
  #unread = new UnreadGroup(this.#list, () => this.#planDraw());
  #asked = 0;
  /** @type {Map<string, SessionNews>} News since the list was requested last. */ #meanwhile = new Map();
  #isDrawPlanned = false;
  /** @type {Map<string, Row>} The drawn rows by name. */ #rows = new Map();
  /** @type {Map<string, HTMLElement>} The other drawn elements. */ #parts = new Map();
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
      if (event.key === "Enter" && !event.isComposing && this.#search.value.trim()) {
        event.preventDefault();
        clearTimeout(timer);
        void this.#openFirst();
      }
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
        make(
          "div",
          { class: "sidebar-new" },
          button({ label: words.newChat, icon: "plus", press: actions.newChat }),
          iconButton({ label: temporaryWords.begin, icon: "hourglass", press: actions.newTemporary }),
        ),
        make("div", { class: "search" }, icon("search"), this.#search),
      ),
      this.#list,
      this.#selection.bar,
      make(
        "div",
        { class: "sidebar-foot" },
        themeSwitch(),
        this.#dashboard,
        notifySwitch(),
        this.#bin,
        languageChoice(),
        iconButton({ label: words.help, icon: "keyboard", press: actions.help }),
      ),
    );
    this.element.addEventListener("keydown", (event) => {
      this.#step(event);
      if (event.key !== "Escape" || event.defaultPrevented || !this.#selection.isOn) return;
      event.preventDefault();
      this.#selection.end();
    });
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
    this.#known.clear();
    this.#found = [];
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

  /** Something came back from the bin. @param {string[]} [ids] @param {string} [open] the id of the conversation to open again */
  async #restored(ids = [], open = "") {
    if (open) location.hash = hrefOf(nameOf({ session_id: open }));
    await this.refresh();
    if (ids[0] && document.activeElement === document.body) this.#rows.get(nameOf({ session_id: ids[0] }))?.link.focus();
  }

  /** Reloads the list. @returns {Promise<void>} */
  refresh() {
    this.#refreshing = this.#reload();
    return this.#refreshing;
  }

  async #reload() {
    this.#asked += 1;
    const asked = this.#asked;
    this.#meanwhile.clear();
    try {
      // A search may exclude new conversations, whose titles are needed all the same.
      const newest = this.#query ? request(listPath({ limit: "20" })) : { sessions: [] };
      const [list, { sessions }, found] = await Promise.all([
        this.#fetch(""),
        newest,
        // Without the messages, the conversations are still found.
        this.#query ? findMessages(this.#query, "").catch(() => none) : none,
      ]);
      if (asked !== this.#asked) return;
      this.#sessions = list;
      this.#found = found.hits;
      this.#foundCursor = found.cursor;
      if (!this.#query) forgetGone(this.#known, list, this.#cursor === "");
      for (const session of [...sessions, ...list]) this.#learn(session);
      this.#state = "ready";
      void this.#keeping.adoptPins();
      // What came meanwhile may be newer than the answer.
      for (const frame of this.#meanwhile.values()) this.#merge(frame);
    } catch (problem) {
      if (asked !== this.#asked) return;
      const status = problem instanceof Problem ? problem.status : 0;
      if (status === 401) this.#actions.denied();
      this.#state = status === 404 ? "off" : "failed";
    }
    this.#draw();
    this.#actions.listed();
  }

  /** @param {Listed} session */
  #learn(session) {
    this.#titles.set(nameOf(session), titleOf(session));
    this.#known.set(session.session_id, session);
  }

  /**
   * Takes news of a conversation.
   * @param {SessionNews} frame
   * @returns {Before | undefined} what was known of it before
   */
  take(frame) {
    const id = frame.session_id;
    // A copy, because the listed object is changed below.
    const before = this.#known.has(id) ? { ...this.#known.get(id) } : undefined;
    this.#meanwhile.set(id, frame);
    this.#merge(frame);
    this.#planDraw();
    return before;
  }

  /** @param {SessionNews} frame */
  #merge(frame) {
    const id = frame.session_id;
    const isShown = id.startsWith("webchat:") && this.#state === "ready";
    const listed = isShown && this.#sessions.find((session) => session.session_id === id);
    if ("removed" in frame) {
      this.#known.delete(id);
      if (listed) this.#sessions = this.#sessions.filter((other) => other !== listed);
      return;
    }
    this.#known.set(id, frame);
    if (!isShown) return;
    /** @type {Listed} */
    const session = { ...frame, channel: "webchat" };
    if (listed) Object.assign(listed, frame);
    // A search decides which conversations are in the list.
    else if (!this.#query) this.#sessions = [session, ...this.#sessions];
    this.#titles.set(nameOf(session), titleOf(session));
  }

  /** Whether there is something in a conversation that no device has shown. @param {string} name */
  isUnread(name) {
    return this.#known.get(`webchat:${name}`)?.unread ?? false;
  }

  /** The open conversation was shown. @param {string} name */
  setRead(name) {
    const listed = this.#sessions.find((session) => nameOf(session) === name);
    for (const state of [listed, this.#known.get(`webchat:${name}`)]) if (state) state.unread = false;
    this.#planDraw();
  }

  /** How many other conversations have something unread, and whether any waits for a decision. */
  elsewhere() {
    const others = [...this.#known].filter(([id]) => id.startsWith("webchat:") && id !== `webchat:${this.#current}`);
    return {
      unread: others.filter(([, state]) => state.unread && !state.busy).length,
      waits: others.some(([, state]) => (state.waiting ?? 0) > 0),
    };
  }

  /** Draws a little later, once for all news until then. */
  #planDraw(delay = 50) {
    if (this.#isDrawPlanned) return;
    this.#isDrawPlanned = true;
    setTimeout(() => {
      this.#isDrawPlanned = false;
      this.#draw();
    }, delay);
  }

  /** Loads pages until there are enough conversations of this page's own channel. @param {string} cursor */
  async #fetch(cursor) {
    /** @type {Listed[]} */
    const found = [];
    for (let round = 0; round < 4 && found.length < 40; round += 1) {
      const page = await request(
        listPath({ limit: "100", ...(cursor && { cursor }), ...(this.#query && { q: this.#query }) }),
      );
      found.push(...(page.sessions ?? []).filter((session) => session.session_id.startsWith("webchat:")));
      cursor = page.next_cursor ?? "";
      if (!cursor) break;
    }
    this.#cursor = cursor;
    return found;
  }

  async #more() {
    const asked = this.#asked;
    try {
      const more = await this.#fetch(this.#cursor);
      if (asked !== this.#asked) return;
      // What came meanwhile stays, and what it brought to the top is not listed twice.
      const listed = new Set(this.#sessions.map((session) => session.session_id));
      const fresh = more.filter((session) => !listed.has(session.session_id));
      this.#sessions = [...this.#sessions, ...fresh];
      for (const session of fresh) this.#learn(session);
    } catch {
      toast(words.failed);
    }
    this.#draw();
  }

  async #moreFound() {
    const [query, from] = [this.#query, this.#foundCursor];
    try {
      const { hits, cursor } = await findMessages(query, from);
      if (query !== this.#query || from !== this.#foundCursor) return;
      this.#found = [...this.#found, ...hits];
      this.#foundCursor = cursor;
    } catch {
      toast(words.failed);
    }
    this.#draw();
  }

  /** Opens the first result of what is written in the search field, whether or not it has been searched for yet. */
  async #openFirst() {
    const query = this.#search.value.trim();
    if (query !== this.#query) {
      this.#query = query;
      void this.refresh();
    }
    // The answer to what was written may still be on its way.
    await this.#refreshing;
    if (query !== this.#query || this.#state !== "ready") return;
    // A conversation whose title does not have the words is listed because of a message, to which this leads at once.
    const isInTitle = this.#sessions.some((session) => titleOf(session).toLowerCase().includes(query.toLowerCase()));
    const message = this.#list.querySelector(".found a");
    const first = (isInTitle ? null : /** @type {HTMLAnchorElement | null} */ (message)) ?? this.#links()[0];
    first?.click();
  }

  #links() {
    return [...this.#list.querySelectorAll("a")];
  }

  /** Moves between the search field and the rows by the arrow keys. @param {KeyboardEvent} event */
  #step(event) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || event.isComposing || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const stops = [this.#search, ...this.#links()];
    const from = stops.findIndex((stop) => stop === document.activeElement);
    if (from < 0) return;
    event.preventDefault();
    stops[from + step]?.focus();
  }

  #draw() {
    this.#dashboard.hidden = this.#bin.hidden = this.isOff;
    if (this.#state === "loading") return;
    // A menu is not taken from under the pointer.
    if (this.#list.querySelector("[aria-expanded=true]")) return this.#planDraw(300);
    const focused = /** @type {HTMLElement | null} */ (
      this.#list.contains(document.activeElement) ? document.activeElement : null
    );
    const isSearch = this.#query !== "";
    // What a search finds stays in its own order.
    const unread = this.#unread.of(isSearch ? [] : this.#sessions, (session) => this.#isUnreadElsewhere(session));
    const groups = grouped(this.#sessions, new Date(serverNow()), isSearch, unread);
    const more =
      this.#cursor &&
      this.#kept("more", () =>
        button({ label: words.more, look: "button-small button-quiet", press: () => void this.#more() }),
      );
    arrange(this.#list, [
      ...[this.#noteFor(groups.length + this.#found.length)].filter((note) => note !== null),
      ...groups.flatMap(({ label, key, sessions }) => {
        const list = this.#kept(`list:${key}`, () => make("ul", { role: "list" }));
        arrange(
          list,
          sessions.map((session) => this.#row(session)),
        );
        return [this.#kept(`heading:${key}`, () => make("h2", { dir: "auto" }, ...visible(label))), list];
      }),
      ...this.#archived(),
      ...(more ? [more] : []),
      ...this.#messages(),
    ]);
    const shown = new Set(this.#sessions.map(nameOf));
    for (const name of this.#rows.keys()) if (!shown.has(name)) this.#rows.delete(name);
    this.#selection.keepOnly(shown);
    // A row that moves to another group takes its focus along.
    if (focused?.isConnected && document.activeElement !== focused) focused.focus();
  }

  /** What is archived, folded, at the end. A search shows it in its place. @returns {HTMLElement[]} */
  #archived() {
    const archived = this.#query ? [] : archivedOf(this.#sessions);
    if (archived.length === 0) return [];
    const list = this.#kept("archived-list", () => make("ul", { role: "list" }));
    arrange(
      list,
      archived.map((session) => this.#row(session)),
    );
    const fold = this.#kept("archived", () => make("details", { class: "archived" }, make("summary", {}), list));
    const label = keepingWords.showArchived(archived.length);
    const summary = fold.querySelector("summary");
    if (summary && summary.textContent !== label) summary.textContent = label;
    return [fold];
  }

  /** The messages that were found. They are drawn anew with each answer only. @returns {HTMLElement[]} */
  #messages() {
    if (this.#found !== this.#drawn) {
      this.#drawn = this.#found;
      const rows = this.#found.map((hit) => foundRow(hit, () => this.#actions.visit()));
      this.#hits =
        rows.length > 0 ? [make("h2", {}, foundWords.heading), make("ul", { role: "list" }, ...rows)] : [];
      if (this.#foundCursor)
        this.#hits.push(
          button({ label: foundWords.more, look: "button-small button-quiet", press: () => void this.#moreFound() }),
        );
    }
    return this.#hits;
  }

  /** An element that stays the same from one drawing to the next. @param {string} key @param {() => HTMLElement} build */
  #kept(key, build) {
    const element = this.#parts.get(key) ?? build();
    this.#parts.set(key, element);
    return element;
  }

  /** What stands in place of the list, or above it. @param {number} groups how many there are @returns {HTMLElement | null} */
  #noteFor(groups) {
    if (this.#state === "failed")
      return this.#kept("failed", () =>
        make(
          "div",
          { class: "sidebar-note", role: "status" },
          words.failed,
          button({ label: texts.error.again, look: "button-small", press: () => void this.refresh() }),
        ),
      );
    if (this.#state === "off") return this.#kept("off", () => make("p", { class: "sidebar-note" }, words.historyOff));
    if (groups > 0) return null;
    const text = this.#query ? words.nothingFound : words.none;
    return this.#kept(`none:${text}`, () => make("p", { class: "sidebar-note", role: "status" }, text));
  }

  /**
   * The row of a conversation. It stays the same element while news come, so that neither the focus nor a press is lost.
   * @param {Listed} session
   */
  #row(session) {
    const name = nameOf(session);
    const row = this.#rows.get(name) ?? this.#newRow(name);
    this.#rows.set(name, row);
    const title = titleOf(session);
    const isCurrent = name === this.#current;
    const isUnread = this.#isShownUnread(session);
    const { isOn: isSelecting } = this.#selection;
    const isSelected = isSelecting && this.#selection.has(name);
    const shows = JSON.stringify([title, session.updated_at, session.waiting, session.busy, isUnread, isCurrent, isSelecting, isSelected]);
    if (row.shows === shows) return row.element;
    row.shows = shows;
    row.element.toggleAttribute("data-current", isCurrent);
    row.element.toggleAttribute("data-unread", isUnread);
    if (isCurrent) row.link.setAttribute("aria-current", "page");
    else row.link.removeAttribute("aria-current");
    row.check.hidden = !isSelecting;
    row.check.checked = isSelected;
    row.check.setAttribute("aria-label", selectionWords.select(visibleText(title)));
    row.element.toggleAttribute("data-selected", isSelected);
    row.link.title = visibleText(title);
    for (const attribute of ["aria-label", "title"])
      row.options.setAttribute(attribute, words.options(visibleText(title)));
    fill(
      row.link,
      make("span", { class: "session-title", dir: "auto" }, ...visible(title)),
      this.#mark(session),
      timeElement(session.updated_at, "session-time"),
    );
    return row.element;
  }

  /** @param {string} name @returns {Row} */
  #newRow(name) {
    const options = rowMenu("", () => {
      const session = this.#sessions.find((listed) => nameOf(listed) === name);
      const begin = { label: selectionWords.begin, icon: "check", press: () => this.#selection.begin(name) };
      return session ? this.#keeping.items(session, foldersOf(this.#sessions), begin) : [];
    });
    const link = make("a", { href: hrefOf(name) });
    const check = make("input", { type: "checkbox", class: "session-check", hidden: true });
    const press = (/** @type {MouseEvent} */ event) => {
      if (!this.#selection.isOn) return;
      if (event.target !== check) event.preventDefault();
      this.#selection.toggle(name, event.shiftKey);
    };
    link.addEventListener("click", press);
    check.addEventListener("click", press);
    return { element: make("li", { class: "session", data: { name } }, check, link, options), link, options, check, shows: "" };
  }

  /** @param {string[]} names */
  #named(names) {
    return this.#sessions.filter((session) => names.includes(nameOf(session)));
  }

  /** @param {Listed} session */
  #mark(session) {
    if (session.waiting) return make("span", { class: "badge", data: { tone: "warn" } }, words.waits);
    if (session.busy) return make("span", { class: "session-busy", role: "img", "aria-label": words.busy });
    if (this.#isShownUnread(session))
      return make("span", { class: "session-unread", role: "img", "aria-label": newsWords.unread });
    return null;
  }

  /** The open conversation is being read. @param {Listed} session */
  #isShownUnread(session) {
    return session.unread && !session.busy && (nameOf(session) !== this.#current || document.hidden);
  }

  /** The open one stays where it is. @param {Listed} session */
  #isUnreadElsewhere(session) {
    return Boolean(session.unread && !session.busy && !session.archived) && nameOf(session) !== this.#current;
  }
}
