// The quiet line above the message box that says which commands run in the background of the conversation: opened, it shows the
// end of their output, and stops them.

import { button } from "../shared/controls.js";
import { arrange, fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { timeElement } from "../shared/time.js";
import { toast } from "../shared/toast.js";
import { visible, visibleText } from "../shared/visible.js";
import { backgroundWords as words } from "../texts/background.js";

/** @import { BackgroundCommand } from "../wire/api.js" */
/** @import { Session } from "./session.js" */

/** @typedef {{element: HTMLElement, show: (command: BackgroundCommand) => void}} Row */

export class RunningCommands {
  /** Announced when their number changes. */ #said = make("span", { class: "visually-hidden", role: "status" });
  #count = make("span", { class: "fold-name" });
  #brief = make("code", { class: "fold-brief", dir: "ltr" });
  #rows = make("ul", { class: "running-list" });
  #summary = make("summary", {}, icon("chevron"), icon("terminal"), this.#count, this.#brief);
  #fold = make("details", { class: "fold" }, this.#summary, this.#rows);
  element = make("div", { class: "running" }, this.#said);
  /** @type {Map<number, Row>} */ #shown = new Map();
  /** @type {Session | null} */ #session = null;
  #leave;

  /** @param {() => void} leave called when the line disappears with the focus in it */
  constructor(leave) {
    this.#leave = leave;
  }

  /** @param {Session} session the conversation that is open */
  draw(session) {
    if (session !== this.#session) {
      this.#session = session;
      this.#shown.clear();
      this.#fold.open = false;
    }
    const running = session.running;
    for (const number of this.#shown.keys())
      if (!running.some((command) => command.number === number)) this.#shown.delete(number);
    for (const command of running) {
      const row = this.#shown.get(command.number) ?? commandRow(command, session);
      this.#shown.set(command.number, row);
      row.show(command);
    }
    this.#drawLine(running);
  }

  /** @param {BackgroundCommand[]} running */
  #drawLine(running) {
    const hadFocus = this.#fold.contains(document.activeElement);
    arrange(
      this.#rows,
      running.map(({ number }) => /** @type {Row} */ (this.#shown.get(number)).element),
    );
    const count = running.length > 0 ? words.running(running.length) : "";
    if (this.#count.textContent !== count) for (const place of [this.#count, this.#said]) place.textContent = count;
    const brief = running.length === 1 ? visibleText(running[0].command) : "";
    if (this.#brief.textContent !== brief) this.#brief.textContent = brief;
    const isShown = running.length > 0;
    if (isShown !== this.#fold.isConnected) arrange(this.element, isShown ? [this.#said, this.#fold] : [this.#said]);
    if (!hadFocus || this.#fold.contains(document.activeElement)) return;
    // The command that had the focus has ended.
    if (!isShown) this.#leave();
    else this.#summary.focus();
  }
}

/** @param {BackgroundCommand} command @param {Session} session @returns {Row} */
function commandRow({ number, command, started_at: since }, session) {
  const name = visibleText(command);
  const stop = button({ label: words.stop, icon: "stop", look: "button-small", press: () => void end() });
  stop.setAttribute("aria-label", words.stopOf(name));
  const end = async () => {
    if (stop.ariaDisabled === "true") return;
    // Not `disabled`, which would take the focus away.
    stop.ariaDisabled = "true";
    try {
      await session.stopCommand(number);
    } catch (problem) {
      stop.ariaDisabled = "false";
      toast(words.failed(/** @type {Error} */ (problem).message));
    }
  };
  const output = make("pre", { tabindex: "0", role: "group", "aria-label": words.output(name), dir: "ltr" });
  const head = make("div", { class: "running-head" }, make("code", { dir: "ltr" }, ...visible(command)), timeElement(since), stop);
  let last = "";
  const show = (/** @type {BackgroundCommand} */ { output: text }) => {
    const shown = text || words.silent;
    if (shown === last) return;
    last = shown;
    const isAtEnd = output.scrollTop + output.clientHeight >= output.scrollHeight - 8;
    fill(output, ...visible(shown));
    if (isAtEnd) output.scrollTop = output.scrollHeight;
  };
  return { element: make("li", {}, head, output), show };
}
