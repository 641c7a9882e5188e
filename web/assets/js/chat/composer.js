// The message box. With a physical keyboard, Enter sends and Shift+Enter inserts a line break; an input method that is composing
// keeps its Enter. Unsent text is kept per conversation.

import { iconButton } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { texts } from "../texts.js";
import { AttachmentTray } from "./attachment-tray.js";
import { accept } from "./attachments.js";
import { messageDraft } from "./drafts.js";
import { Dictation } from "./dictation.js";
import { EffortChoice } from "./effort.js";
import { enterHint, isComposing, sends } from "./enter.js";
import { ModelChoice } from "./model-choice.js";
import { pastedTable } from "./pasted-table.js";
import { fits } from "./size.js";
import { commandIn, SlashMenu, withoutEscape } from "./slash-menu.js";
import { VoiceButton } from "./voice-button.js";

/** @import { Choice } from "./choices.js" */
/** @import { Attachment, Turn } from "./types.js" */
/** @import { Command } from "./slash-menu.js" */

/**
 * @typedef {{send: (text: string, files: Attachment[]) => void, stop: () => void, editLast: () => void,
 *   choose: (choice: Partial<Choice>) => void, commands: () => Command[]}} ComposerActions
 */

export class Composer {
  element = make("form", { class: "composer" });
  #actions;
  #text = make("textarea", {
    id: "message",
    rows: 1,
    "aria-label": texts.composer.label,
    placeholder: texts.composer.placeholder,
    enterkeyhint: enterHint(),
    autocomplete: "off",
  });
  #model = new ModelChoice((model) => this.#actions.choose({ model }));
  #send = make(
    "button",
    { type: "submit", class: "send", "aria-label": texts.composer.send, title: texts.composer.send },
    icon("send"),
  );
  #stop = iconButton({ label: texts.composer.stop, icon: "stop", look: "stop", press: () => this.#actions.stop() });
  #chooser = make("input", {
    type: "file",
    multiple: true,
    accept,
    hidden: true,
    tabindex: "-1",
    "aria-hidden": "true",
  });
  #tray = new AttachmentTray(
    () => this.#changed(),
    () => this.focus(),
  );
  #effort = new EffortChoice((effort) => this.#actions.choose({ effort }));
  #dictation = new Dictation(
    (text) => this.#insert(text),
    (why) => this.#tray.complain(why),
  );
  #voice = new VoiceButton({
    send: (text) => this.#actions.send(text, []),
    place: (panel) => {
      this.#dictation.cancel();
      this.element.prepend(panel);
    },
    failed: (why) => this.#tray.complain(why),
  });
  #slash = new SlashMenu(this.#text, {
    commands: () => this.#actions.commands(),
    write: (text, from, to) => this.#replace(text, from, to),
  });
  #session = "";
  #isBusy = false;
  #isTooLong = false;
  /** Whether the message calls an unknown command, which is said. */ #isHeld = false;

  /** @param {ComposerActions} actions */
  constructor(actions) {
    this.#actions = actions;
    const attach = iconButton({ label: texts.composer.attach, icon: "attach", press: () => this.#chooser.click() });
    this.#stop.hidden = true;
    this.element.append(
      this.#slash.element,
      this.#tray.element,
      this.#tray.error,
      this.#text,
      make(
        "div",
        { class: "composer-row" },
        attach,
        this.#chooser,
        this.#dictation.element,
        this.#voice.element,
        this.#model.element,
        this.#effort.element,
        make("span", { class: "composer-gap" }),
        this.#stop,
        this.#send,
      ),
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#text.addEventListener("keydown", (event) => this.#key(event));
    this.#text.addEventListener("input", () => {
      this.#release();
      if (this.#isTooLong) this.#weigh();
      this.#changed();
      this.#slash.look();
    });
    this.#text.addEventListener("paste", (event) => this.#paste(event));
    this.#chooser.addEventListener("change", () => {
      void this.attach([...(this.#chooser.files ?? [])]);
      this.#chooser.value = "";
    });
    addEventListener("beforeunload", (event) => {
      // Unsent text survives a reload, and so do files that were uploaded.
      if (this.#tray.holdsAny) event.preventDefault();
    });
    this.#changed();
  }

  focus() {
    this.#text.focus();
  }

  /** Whether a person writes in it. */
  get hasFocus() {
    return document.activeElement === this.#text;
  }

  /** @param {boolean} isOffered whether the server hears what is said */
  offerDictation(isOffered) {
    this.#dictation.offer(isOffered);
    this.#voice.offer(isOffered);
  }

  /** Puts words where the cursor is, apart from those beside them. @param {string} text */
  #insert(text) {
    const box = this.#text;
    const before = box.value.slice(0, box.selectionStart);
    const after = box.value.slice(box.selectionEnd);
    const [start, end] = [/\S$/.test(before) ? " " : "", /^\S/.test(after) ? " " : ""];
    box.setRangeText(`${start}${text}${end}`, box.selectionStart, box.selectionEnd, "end");
    this.#changed();
    this.focus();
  }

  /** Opens the list of models. */
  chooseModel() {
    this.#model.open();
  }

  /** Has saved prompts that have changed read again. */
  promptsChanged() {
    this.#slash.forget();
  }

  /** Replaces the message so that the keyboard can undo it, and selects a part. @param {string} text @param {number} [from] @param {number} [to] */
  #replace(text, from = text.length, to = from) {
    this.focus();
    this.#text.select();
    document.execCommand(text ? "insertText" : "delete", false, text);
    if (this.#text.value !== text) this.#text.value = text;
    this.#changed();
    this.#text.setSelectionRange(from, to);
  }

  /** @param {string} name */
  switchTo(name) {
    this.#slash.close();
    this.hush();
    this.#release();
    this.#session = name;
    this.#isTooLong = false;
    this.#text.value = messageDraft(name).read();
    this.#tray.switchTo(name);
  }

  /** Puts a message that was taken back before what is being written. @param {string} text @param {Attachment[]} files */
  putBack(text, files) {
    this.#tray.putBack(files);
    this.write([text, this.#text.value].filter((part) => part.trim()).join("\n\n"));
    this.#text.setSelectionRange(text.length, text.length);
  }

  /** @param {string} text */
  write(text) {
    this.#text.value = text;
    this.#changed();
    this.focus();
    this.#text.setSelectionRange(text.length, text.length);
  }

  /** Ends whatever listens. */
  hush() {
    this.#dictation.cancel();
    this.#voice.end();
  }

  /** Follows the conversation, whenever it is drawn. @param {Turn[]} turns @param {boolean} isBusy */
  follow(turns, isBusy) {
    this.#setBusy(isBusy);
    this.#voice.follow(turns);
  }

  /** @param {boolean} isBusy */
  #setBusy(isBusy) {
    if (isBusy === this.#isBusy) return;
    this.#isBusy = isBusy;
    const hadFocus = document.activeElement === this.#stop;
    this.#stop.hidden = !isBusy;
    if (hadFocus && !isBusy) this.focus();
    this.#changed();
  }

  /** @param {string} model the configured one, or "" while there is none */
  setModel(model) {
    this.#model.setStandard(model);
  }

  /** @param {Choice} choice */
  setChoice({ model, effort }) {
    this.#model.setChosen(model);
    this.#effort.setChosen(effort);
    // A choice that is made stays in view, so that it can be taken back.
    this.#effort.element.hidden = this.#model.isPlain && !effort;
  }

  /** @param {File[]} files */
  async attach(files) {
    const session = this.#session;
    await this.#tray.add(files);
    if (session === this.#session) this.focus();
  }

  #submit() {
    const text = this.#text.value.trim();
    if (!text && this.#tray.files.length === 0) return;
    if (this.#tray.isWaiting || !this.#weigh()) return;
    if (commandIn(text) !== null) return void this.#sendCommand(text);
    this.#sendNow(withoutEscape(text));
  }

  /** @param {string} text */
  #sendNow(text) {
    this.#text.value = "";
    const files = this.#tray.take();
    this.#actions.send(text, files);
  }

  /** Sends a message that begins like a command, unless there is no such command. @param {string} text */
  async #sendCommand(text) {
    const session = this.#session;
    const objection = await this.#slash.objection(text);
    // What was changed meanwhile is not what was to be sent.
    if (session !== this.#session || text !== this.#text.value.trim()) return;
    if (!objection) return this.#sendNow(text);
    this.#isHeld = true;
    this.#tray.complain(objection);
  }

  /** Takes back what was said of an unknown command. */
  #release() {
    if (this.#isHeld) this.#tray.complain("");
    this.#isHeld = false;
  }

  /** Warns while the message is too large. @returns {boolean} whether it fits */
  #weigh() {
    const isFit = fits(this.#text.value.trim(), this.#tray.files);
    if (this.#isTooLong === isFit) this.#tray.complain(isFit ? "" : texts.composer.tooLong);
    this.#isTooLong = !isFit;
    return isFit;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (this.#slash.key(event)) return;
    if (sends(event)) {
      event.preventDefault();
      this.#submit();
    } else if (event.key === "ArrowUp" && !isComposing(event) && !this.#text.value) {
      event.preventDefault();
      this.#actions.editLast();
    }
  }

  /** @param {ClipboardEvent} event */
  #paste(event) {
    const table = pastedTable(event.clipboardData);
    if (table) {
      event.preventDefault();
      // Unlike an assignment, this can be undone with the keyboard.
      document.execCommand("insertText", false, table);
      return;
    }
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0 || isFormattedText(event.clipboardData)) return;
    event.preventDefault();
    void this.attach(files);
  }

  #changed() {
    const isBlank = !this.#text.value.trim() && this.#tray.files.length === 0;
    // A message without a file that is on its way would not be what was meant.
    this.#send.disabled = isBlank || this.#tray.isWaiting;
    const label = this.#isBusy ? texts.composer.queue : texts.composer.send;
    this.#send.setAttribute("aria-label", label);
    this.#send.title = label;
    messageDraft(this.#session).keep(this.#text.value);
    if (CSS.supports("field-sizing", "content")) return;
    this.#text.style.height = "auto";
    this.#text.style.height = `${this.#text.scrollHeight}px`;
  }
}

/**
 * Returns whether copied text comes with a picture of itself, as spreadsheet cells do. A picture copied from a page comes with
 * its element, and no text.
 * @param {DataTransfer | null} data
 */
function isFormattedText(data) {
  return Boolean(data?.types.includes("text/html") && data.getData("text/plain").trim());
}
