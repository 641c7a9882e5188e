// The box in which messages are written. Enter sends, Shift+Enter breaks the line, and an input method that is composing
// keeps its Enter. What was written is kept for each conversation until it is sent.

import { iconButton } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { texts } from "../texts.js";
import { accept, allowance, maxFiles, readAttachment, weight } from "./attachments.js";

/** @import { Attachment } from "./types.js" */

const maxText = 200000;

/** @typedef {{send: (text: string, files: Attachment[]) => void, stop: () => void, editLast: () => void}} ComposerActions */

export class Composer {
  element = make("form", { class: "composer" });
  #actions;
  #text = make("textarea", {
    id: "message", rows: 1, "aria-label": texts.composer.label, placeholder: texts.composer.placeholder, enterkeyhint: "send",
    autocomplete: "off", maxlength: maxText,
  });
  #files = make("div", { class: "composer-files" });
  #error = make("p", { class: "composer-error", role: "alert" });
  #model = make("span", { class: "composer-model" });
  #send = make("button", { type: "submit", class: "send", "aria-label": texts.composer.send, title: texts.composer.send }, icon("send"));
  #stop = iconButton({ label: texts.composer.stop, icon: "stop", look: "stop", press: () => this.#actions.stop() });
  #chooser = make("input", { type: "file", multiple: true, accept, hidden: true, tabindex: "-1", "aria-hidden": "true" });
  /** @type {Attachment[]} */ #attachments = [];
  #session = "";
  #isBusy = false;

  /** @param {ComposerActions} actions */
  constructor(actions) {
    this.#actions = actions;
    const attach = iconButton({ label: texts.composer.attach, icon: "attach", press: () => this.#chooser.click() });
    this.#stop.hidden = true;
    this.element.append(
      this.#files,
      this.#error,
      this.#text,
      make("div", { class: "composer-row" }, attach, this.#chooser, this.#model, this.#stop, this.#send),
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#text.addEventListener("keydown", (event) => this.#key(event));
    this.#text.addEventListener("input", () => this.#changed());
    this.#text.addEventListener("paste", (event) => this.#paste(event));
    this.#chooser.addEventListener("change", () => {
      void this.attach([...(this.#chooser.files ?? [])]);
      this.#chooser.value = "";
    });
    this.#changed();
  }

  focus() {
    this.#text.focus();
  }

  /** @param {string} name */
  switchTo(name) {
    this.#session = name;
    this.#attachments = [];
    this.#text.value = draft(name);
    this.#complain("");
    this.#drawFiles();
    this.#changed();
  }

  /** @param {string} text */
  write(text) {
    this.#text.value = text;
    this.#changed();
    this.focus();
    this.#text.setSelectionRange(text.length, text.length);
  }

  /** @param {boolean} isBusy */
  setBusy(isBusy) {
    if (isBusy === this.#isBusy) return;
    this.#isBusy = isBusy;
    const hadFocus = document.activeElement === this.#stop;
    this.#stop.hidden = !isBusy;
    if (hadFocus && !isBusy) this.focus();
    this.#changed();
  }

  /** @param {string} model */
  setModel(model) {
    this.#model.textContent = model;
  }

  /** @param {File[]} files */
  async attach(files) {
    this.#complain("");
    for (const file of files) {
      if (this.#attachments.length >= maxFiles) {
        this.#complain(texts.attachment.tooMany);
        break;
      }
      const used = this.#attachments.reduce((sum, attachment) => sum + weight(attachment), 0);
      try {
        this.#attachments.push(await readAttachment(file, allowance - used));
      } catch (problem) {
        this.#complain(/** @type {Error} */ (problem).message);
      }
      this.#drawFiles();
    }
    this.#changed();
    this.focus();
  }

  #submit() {
    const text = this.#text.value.trim();
    if (!text && this.#attachments.length === 0) return;
    const files = this.#attachments;
    this.#attachments = [];
    this.#text.value = "";
    this.#complain("");
    this.#drawFiles();
    this.#changed();
    this.#actions.send(text, files);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    // 229 is what some browsers report for a key that an input method has taken.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.#submit();
    } else if (event.key === "ArrowUp" && !this.#text.value) {
      event.preventDefault();
      this.#actions.editLast();
    }
  }

  /** @param {ClipboardEvent} event */
  #paste(event) {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void this.attach(files);
  }

  #changed() {
    const isBlank = !this.#text.value.trim() && this.#attachments.length === 0;
    this.#send.disabled = isBlank;
    const label = this.#isBusy ? texts.composer.queue : texts.composer.send;
    this.#send.setAttribute("aria-label", label);
    this.#send.title = label;
    keepDraft(this.#session, this.#text.value);
    if (CSS.supports("field-sizing", "content")) return;
    this.#text.style.height = "auto";
    this.#text.style.height = `${this.#text.scrollHeight}px`;
  }

  /** @param {string} text */
  #complain(text) {
    this.#error.textContent = text;
    this.#error.hidden = !text;
  }

  #drawFiles() {
    this.#files.hidden = this.#attachments.length === 0;
    fill(this.#files, ...this.#attachments.map((file) => this.#chip(file)));
  }

  /** @param {Attachment} file */
  #chip(file) {
    const remove = () => {
      this.#attachments = this.#attachments.filter((other) => other !== file);
      this.#drawFiles();
      this.#changed();
      this.focus();
    };
    const preview = file.mime.startsWith("image/") ? make("img", { src: `data:${file.mime};base64,${file.data}`, alt: "" }) : icon("file");
    return make(
      "div",
      { class: "composer-file" },
      preview,
      make("span", { title: file.name }, file.name),
      iconButton({ label: texts.composer.remove(file.name), icon: "close", look: "icon-button-small", press: remove }),
    );
  }
}

/** @param {string} session */
const draftKey = (session) => `aethon.draft.${session}`;

/** @param {string} session */
function draft(session) {
  try {
    return sessionStorage.getItem(draftKey(session)) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} session @param {string} text */
function keepDraft(session, text) {
  try {
    if (!session) return;
    if (text) sessionStorage.setItem(draftKey(session), text);
    else sessionStorage.removeItem(draftKey(session));
  } catch {
    // A draft that cannot be kept is only a draft.
  }
}
