// Ways to a message of the open conversation: its address, words that it contains, its date, and the beginning.

import { request } from "../shared/api.js";
import { searchPath } from "./found-messages.js";
import { button } from "../shared/controls.js";
import { openDialog } from "../shared/dialog.js";
import { make } from "../shared/dom.js";
import { toast } from "../shared/toast.js";
import { findingWords as words } from "../texts/finding.js";
import { foundWords } from "../texts/found.js";
import { FindBar } from "./find-bar.js";
import { clearMarks, markWords } from "./found-marks.js";

/** @import { FoundMessage } from "../wire/api.js" */
/** @import { MenuItem } from "../shared/menu.js" */
/** @import { Session } from "./session.js" */
/** @import { Transcript } from "./transcript.js" */
/** @import { Turn } from "./types.js" */

const page = 100;
/** @type {{hits: FoundMessage[], cursor: string, at: number}} */
const nothing = { hits: [], cursor: "", at: -1 };

export class Finding {
  bar = new FindBar({
    look: (text) => void this.#look(text),
    step: (by) => void this.#step(by),
    closed: () => this.#forget(),
  });
  #page;
  /** The message to show once the conversation is loaded. */ #sought = "";
  #query = "";
  #found = nothing;
  /** Rises with each search, so that a late answer is not taken. */ #asked = 0;

  /** @param {{session: () => Session | null, draw: () => void, transcript: Transcript}} page */
  constructor(page) {
    this.#page = page;
  }

  /** Begins with another conversation. */
  reset() {
    this.#sought = "";
    this.bar.close();
  }

  /** Leads to the message that an address names. @param {string} message its id, or "" */
  visit(message) {
    this.#sought = message;
    void this.reach();
  }

  /** Leads to the message that is sought, if the conversation is loaded. */
  async reach() {
    const session = this.#page.session();
    const sought = this.#sought;
    if (!session?.isLoaded || !sought) return;
    this.#sought = "";
    try {
      const turn = await session.reach(sought);
      if (session !== this.#page.session() || this.#sought) return;
      this.#page.draw();
      if (turn) this.#page.transcript.goTo(turn);
      else toast(foundWords.missing);
    } catch {
      if (session === this.#page.session()) toast(foundWords.failed);
    }
  }

  /** @returns {MenuItem[]} */
  items() {
    return [
      { label: words.find, icon: "search", press: () => this.bar.open() },
      { label: words.toBeginning, icon: "up", press: () => void this.#goTo((session) => session.reachTime(-Infinity)) },
      { label: words.toDate, icon: "clock", press: () => this.#askDate() },
    ];
  }

  /**
   * Opens the field instead of the browser's own search, as long as that would not find everything. Pressed in the field again, the
   * browser's opens.
   * @param {KeyboardEvent} event
   */
  takeShortcut(event) {
    const session = this.#page.session();
    const isMeant = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "f";
    if (!isMeant || !session || this.bar.element.contains(document.activeElement)) return;
    if (!session.conversation.hasOlder && this.#page.transcript.isWhole) return;
    event.preventDefault();
    this.bar.open();
  }

  #askDate() {
    const field = make("input", { class: "input", type: "date", "aria-label": words.date, required: true, max: isoDay(new Date()) });
    const form = make("form", {}, field);
    const go = button({ label: words.go, look: "button-primary", press: () => form.requestSubmit() });
    const dialog = openDialog({
      title: words.toDate,
      body: [form],
      actions: [button({ label: words.cancel, press: () => dialog.close() }), go],
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const [year, month, day] = field.value.split("-").map(Number);
      if (!day) return;
      dialog.close();
      void this.#goTo((session) => session.reachTime(new Date(year, month - 1, day).getTime()));
    });
    field.focus();
  }

  /** @param {(session: Session) => Promise<Turn | undefined>} reach */
  async #goTo(reach) {
    const session = this.#page.session();
    if (!session) return;
    try {
      const turn = await reach(session);
      if (session !== this.#page.session()) return;
      this.#page.draw();
      if (turn) this.#page.transcript.goTo(turn);
      else toast(words.nothingSince);
    } catch {
      if (session === this.#page.session()) toast(words.loadFailed);
    }
  }

  #forget() {
    this.#asked += 1;
    this.#query = "";
    this.#found = nothing;
    clearMarks();
  }

  /** Searches anew. @param {string} query */
  async #look(query) {
    if (query === this.#query) return;
    this.#forget();
    this.#query = query;
    if (!query) return this.bar.setState("", false);
    if (await this.#ask("")) await this.#step(1);
  }

  /** Goes to the next older or newer message. @param {1 | -1} by */
  async #step(by) {
    const { hits, cursor, at } = this.#found;
    if (hits.length === 0) return;
    if (at + by >= hits.length && cursor && !(await this.#ask(cursor))) return;
    const all = this.#found.hits;
    // After the last comes the first.
    this.#found.at = (at + by + all.length) % all.length;
    const hit = all[this.#found.at];
    this.bar.setState(words.place(this.#found.at + 1, all.length, this.#found.cursor !== ""), true);
    await this.#show(hit);
  }

  /** @param {string} cursor @returns {Promise<boolean>} whether there are hits to go to */
  async #ask(cursor) {
    const session = this.#page.session();
    if (!session) return false;
    this.#asked += 1;
    const asked = this.#asked;
    const parameters = new URLSearchParams({ q: this.#query, session: `webchat:${session.name}`, limit: String(page) });
    if (cursor) parameters.set("cursor", cursor);
    try {
      const answer = await request(searchPath(parameters));
      if (asked !== this.#asked) return false;
      this.#found = {
        hits: [...this.#found.hits, ...answer.hits],
        cursor: answer.next_cursor ?? "",
        at: this.#found.at,
      };
    } catch (problem) {
      if (asked === this.#asked) this.bar.setState(words.failed(/** @type {Error} */ (problem).message), false);
      return false;
    }
    if (this.#found.hits.length === 0) this.bar.setState(words.none, false);
    return this.#found.hits.length > 0;
  }

  /** @param {FoundMessage} hit */
  async #show(hit) {
    const session = this.#page.session();
    const asked = this.#asked;
    if (!session) return;
    try {
      const turn = await session.reach(hit.message_id);
      if (asked !== this.#asked || session !== this.#page.session()) return;
      this.#page.draw();
      // By the question: the snippet has the words of the beginning only, whole, as they stand there.
      const query = this.#query;
      const part = hit.role === "user" ? ".said" : ".reply-parts";
      if (turn) this.#page.transcript.bring(turn, (element) => markWords(element.querySelector(part), query));
      else toast(foundWords.missing);
    } catch {
      if (asked === this.#asked) toast(foundWords.failed);
    }
  }
}

/** @param {Date} day */
const isoDay = (day) =>
  `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, "0")}-${String(day.getDate()).padStart(2, "0")}`;
