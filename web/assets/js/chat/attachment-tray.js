// The files above the message box, kept per conversation until they are sent. Reading a file takes a while; it is added to the
// conversation it was meant for, whichever is open by then.

import { iconButton } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { visible, visibleText } from "../shared/visible.js";
import { texts } from "../texts.js";
import { allowance, maxFiles, maxTogether, readAttachment, weight } from "./attachments.js";
import { filesDraft } from "./drafts.js";
import { light } from "./outbox.js";
import { pictureSource } from "./picture.js";

/** @import { Attachment } from "./types.js" */
/** @typedef {{files: Attachment[], coming: Coming[], complaint: string}} Place `coming` are those on their way */
/** @typedef {{name: string, stop: AbortController}} Coming */

export class AttachmentTray {
  element = make("div", { class: "composer-files" });
  error = make("p", { class: "composer-error", role: "alert" });
  /** @type {Map<string, Place>} */ #places = new Map();
  #session = "";
  /** @type {Map<string, Promise<void>>} Files of a conversation are read one at a time, so that each knows how much room is left. */
  #reading = new Map();
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

  /** Whether a reload of the page would lose files. Those that were uploaded are kept. */
  get holdsAny() {
    return [...this.#places.values()].some(({ files, coming }) => coming.length > 0 || files.some((file) => !file.upload));
  }

  /** Whether files of the open conversation are on their way. */
  get isWaiting() {
    return this.#place(this.#session).coming.length > 0;
  }

  /** @param {string} session */
  switchTo(session) {
    this.#session = session;
    this.#draw();
  }

  /** Returns and removes the files of the open conversation. */
  take() {
    const place = this.#place(this.#session);
    const { files } = place;
    [place.files, place.complaint] = [[], ""];
    this.#draw();
    return files;
  }

  /** Puts files back that were part of a message. @param {import("./types.js").Attachment[]} files */
  putBack(files) {
    const place = this.#place(this.#session);
    place.files = [...files, ...place.files].slice(0, maxFiles);
    this.#draw();
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
    const { coming } = this.#place(session);
    const fresh = files.map((file) => ({ name: file.name || texts.composer.pasted, stop: new AbortController() }));
    coming.push(...fresh);
    this.#draw();
    const reading = (this.#reading.get(session) ?? Promise.resolve()).then(async () => {
      for (const [index, file] of files.entries()) {
        const { stop } = fresh[index];
        if (!stop.signal.aborted) await this.#addOne(session, file, stop.signal);
        coming.splice(coming.indexOf(fresh[index]), 1);
        this.#draw();
      }
    });
    this.#reading.set(session, reading);
    return reading;
  }

  /** @param {string} session @param {File} file @param {AbortSignal} stop */
  async #addOne(session, file, stop) {
    const { files } = this.#place(session);
    const together = files.reduce((sum, { size = 0 }) => sum + size, file.size);
    const used = files.reduce((sum, attachment) => sum + weight(attachment), 0);
    try {
      if (files.length >= maxFiles) throw new Error(texts.attachment.tooMany);
      if (together > maxTogether) throw new Error(texts.attachment.tooMuch(file.name));
      const attachment = await readAttachment(file, allowance - used, stop);
      if (stop.aborted) return;
      // Looked up again, because the message may have been sent meanwhile.
      this.#place(session).files.push(attachment);
    } catch (problem) {
      if (stop.aborted) return;
      const place = this.#place(session);
      const message = /** @type {Error} */ (problem).message;
      // Every rejected file is reported.
      if (!place.complaint.includes(message)) place.complaint = [place.complaint, message].filter(Boolean).join(" ");
    }
    this.#keep(session);
  }

  /** Keeps the uploaded files of a conversation over a reload. @param {string} session */
  #keep(session) {
    const kept = this.#place(session).files.filter((file) => file.upload).map(light);
    filesDraft(session).keep(kept.length > 0 ? JSON.stringify(kept) : "");
  }

  /** @param {string} session */
  #place(session) {
    const place = this.#places.get(session) ?? { files: kept(session), coming: [], complaint: "" };
    this.#places.set(session, place);
    return place;
  }

  #draw() {
    const { files, coming, complaint } = this.#place(this.#session);
    this.#keep(this.#session);
    if (this.error.textContent !== complaint) this.error.textContent = complaint;
    this.error.hidden = !complaint;
    this.element.hidden = files.length + coming.length === 0;
    fill(this.element, ...files.map((file) => this.#chip(file)), ...coming.map(comingChip));
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

/** The files of a conversation that were uploaded before a reload. @param {string} session @returns {Attachment[]} */
function kept(session) {
  try {
    const files = JSON.parse(filesDraft(session).read() || "[]");
    return Array.isArray(files) ? files.filter((file) => typeof file?.upload === "string" && typeof file.name === "string") : [];
  } catch {
    return [];
  }
}

/** A file on its way to the server, with a button to give it up. @param {Coming} coming */
function comingChip({ name, stop }) {
  const words = texts.attachment.uploading(visibleText(name));
  const label = texts.attachment.stop(visibleText(name));
  return make(
    "div",
    { class: "composer-file-coming", role: "status", title: words },
    icon("file"),
    make("span", {}, words),
    iconButton({ label, icon: "close", look: "icon-button-small", press: () => stop.abort() }),
  );
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
