// The files above the message box, kept per conversation until they are sent. Reading a file takes a while; it is added to the
// conversation it was meant for, whichever is open by then.

import { iconButton } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { visible, visibleText } from "../shared/visible.js";
import { texts } from "../texts.js";
import { allowance, maxFiles, readAttachment, weight } from "./attachments.js";
import { pictureSource } from "./picture.js";

/** @import { Attachment } from "./types.js" */
/** @typedef {{files: Attachment[], complaint: string}} Place */

export class AttachmentTray {
  element = make("div", { class: "composer-files" });
  error = make("p", { class: "composer-error", role: "alert" });
  /** @type {Map<string, Place>} */ #places = new Map();
  #session = "";
  /** Files are read one at a time, so that each knows how much room is left. */
  #reading = Promise.resolve();
  #changed;
  #removed;

  /** @param {() => void} changed @param {() => void} removed called when the user removed a file */
  constructor(changed, removed) {
    this.#changed = changed;
    this.#removed = removed;
  }

  /** The files of the open conversation. */
  get files() {
    return this.#place(this.#session).files;
  }

  /** Whether a reload of the page would lose files. */
  get holdsAny() {
    return [...this.#places.values()].some(({ files }) => files.length > 0);
  }

  /** @param {string} session */
  switchTo(session) {
    this.#session = session;
    this.#draw();
  }

  /** Returns and removes the files of the open conversation. */
  take() {
    const { files } = this;
    this.#places.delete(this.#session);
    this.#draw();
    return files;
  }

  /** Shows a complaint in the open conversation, or none for "". @param {string} text */
  complain(text) {
    this.#place(this.#session).complaint = text;
    this.#draw();
  }

  /** @param {File[]} files @returns {Promise<void>} */
  add(files) {
    const session = this.#session;
    this.complain("");
    this.#reading = this.#reading.then(async () => {
      for (const file of files) await this.#addOne(session, file);
    });
    return this.#reading;
  }

  /** @param {string} session @param {File} file */
  async #addOne(session, file) {
    const { files } = this.#place(session);
    const used = files.reduce((sum, attachment) => sum + weight(attachment), 0);
    try {
      if (files.length >= maxFiles) throw new Error(texts.attachment.tooMany);
      const attachment = await readAttachment(file, allowance - used);
      // Looked up again, because the message may have been sent meanwhile.
      this.#place(session).files.push(attachment);
    } catch (problem) {
      const place = this.#place(session);
      const message = /** @type {Error} */ (problem).message;
      // Every rejected file is reported.
      if (!place.complaint.includes(message)) place.complaint = [place.complaint, message].filter(Boolean).join(" ");
    }
    this.#draw();
  }

  /** @param {string} session */
  #place(session) {
    const place = this.#places.get(session) ?? { files: [], complaint: "" };
    this.#places.set(session, place);
    return place;
  }

  #draw() {
    const { files, complaint } = this.#place(this.#session);
    if (this.error.textContent !== complaint) this.error.textContent = complaint;
    this.error.hidden = !complaint;
    this.element.hidden = files.length === 0;
    fill(this.element, ...files.map((file) => this.#chip(file)));
    this.#changed();
  }

  /** @param {Attachment} file */
  #chip(file) {
    return fileChip(file, () => {
      const place = this.#place(this.#session);
      place.files = place.files.filter((other) => other !== file);
      this.#draw();
      this.#removed();
    });
  }
}

/** An attached file, with a button to remove it. @param {Attachment} file @param {() => void} remove */
export function fileChip(file, remove) {
  const name = visibleText(file.name || texts.turn.picture(""));
  const source = pictureSource(file);
  return make(
    "div",
    { class: "composer-file" },
    source ? make("img", { src: source, alt: "" }) : icon("file"),
    make("span", { title: name }, ...visible(file.name || name)),
    iconButton({ label: texts.composer.remove(name), icon: "close", look: "icon-button-small", press: remove }),
  );
}
