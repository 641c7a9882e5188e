// The user's side of an exchange: the message with its files, and the box in which it is edited.

import { button } from "../shared/controls.js";
import { openDialog } from "../shared/dialog.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { sentence } from "../shared/sentence.js";
import { sheet } from "../shared/sheet.js";
import { visible, visibleText } from "../shared/visible.js";
import { texts } from "../texts.js";
import { fileChip } from "./attachment-tray.js";
import { enterHint, isComposing, sends } from "./enter.js";
import { pictureButton, pictureSource } from "./picture.js";
import { isLong } from "./size.js";

/** @import { Attachment } from "./types.js" */

/** @param {Attachment[]} files */
export function userMessageFiles(files) {
  return make("div", { class: "said-files" }, ...files.map((file) => picture(file) ?? textFile(file)), ...files.map(unreadNote));
}

/** What the server says to the model in place of a document that it cannot read. */
const unread =
  /^\[The file ".*" could not be read: (.+)\. (?:Tell the person so|The file itself may be fine: ask the person to send it again later)\.\]$/s;

/** Why a document could not be read. @param {Attachment} file */
function unreadNote({ name, data, text }) {
  const [, why] = unread.exec(text ?? (data === undefined ? "" : decode(data))) ?? [];
  return why && make("p", { class: "file-unread" }, icon("alert"), make("span", {}, ...sentence(texts.attachment.unread(visibleText(name), why))));
}

/**
 * The message itself; a long one is collapsed until the user expands it.
 * @param {string} text
 * @param {{isOpen: boolean}} fold kept by the caller across redraws
 */
export function userMessageCard(text, fold) {
  const words = make("div", { class: "said-text", dir: "auto" }, text);
  const card = make("div", { class: "said-card" }, words);
  if (!isLong(text)) return card;
  const more = button({
    label: "",
    look: "button-small button-quiet",
    press: () => {
      fold.isOpen = !fold.isOpen;
      show();
      if (!fold.isOpen) card.scrollIntoView({ block: "nearest" });
    },
  });
  const show = () => {
    words.classList.toggle("is-folded", !fold.isOpen);
    more.setAttribute("aria-expanded", String(fold.isOpen));
    /** @type {Element} */ (more.lastElementChild).textContent = fold.isOpen ? texts.turn.showLess : texts.turn.showAll;
  };
  show();
  card.append(more);
  return card;
}

/** @param {Attachment} file */
function picture(file) {
  const source = pictureSource(file);
  if (!source) return null;
  const alt = texts.turn.picture(file.name);
  return pictureButton(source, { title: file.name || alt, label: texts.turn.openPicture(file.name), alt });
}

/** @param {Attachment} file */
function textFile({ name, data, text }) {
  // What was uploaded is read again with the transcript.
  if (data === undefined && text === undefined)
    return make("div", { class: "file-chip" }, icon("file"), make("span", {}, ...visible(name)));
  const open = () =>
    openDialog({
      title: name,
      body: [sheet(text ?? decode(data ?? ""), name)],
      actions: [
        button({
          label: texts.dialog.close,
          press: (event) => /** @type {Element} */ (event.target).closest("dialog")?.close(),
        }),
      ],
      look: "dialog-wide",
    });
  return make(
    "button",
    { type: "button", class: "file-chip", on: { click: open } },
    icon("file"),
    make("span", {}, ...visible(name)),
  );
}

/** @param {string} base64 */
function decode(base64) {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
  } catch {
    return "";
  }
}

/**
 * A box for editing a message and its files. The caller removes it.
 * @param {{text: string, files: Attachment[]}} said
 * @param {{send: (text: string, files?: Attachment[]) => void, cancel: () => void, leave: () => void, changed: (text: string) => void}}
 *   answers `cancel` drops what was typed; `leave`, by a key that is hit by accident as well, does not
 */
export function editBox({ text, files }, { send: answer, cancel, leave, changed }) {
  let kept = files;
  const tray = make("div", { class: "composer-files" });
  const area = make("textarea", {
    class: "input",
    "aria-label": texts.turn.editLabel,
    rows: 3,
    enterkeyhint: enterHint(),
    value: text,
  });
  // Files that all stay are not sent again: the server keeps those of the message that is replaced.
  const send = () =>
    (area.value.trim() || kept.length > 0) && answer(area.value.trim(), kept === files ? undefined : kept);
  const drawFiles = () => {
    tray.hidden = kept.length === 0;
    const chip = (/** @type {Attachment} */ file) =>
      fileChip(file, () => {
        kept = kept.filter((other) => other !== file);
        drawFiles();
        area.focus();
      });
    fill(tray, ...kept.map(chip));
  };
  drawFiles();
  area.addEventListener("input", () => changed(area.value));
  const element = make(
    "div",
    { class: "edit-box" },
    tray,
    area,
    make(
      "div",
      { class: "dialog-actions" },
      button({ label: texts.turn.cancel, look: "button-small", press: cancel }),
      button({ label: texts.turn.editSend, look: "button-small button-primary", press: send }),
    ),
  );
  area.addEventListener("keydown", (event) => {
    if (!sends(event)) return;
    event.preventDefault();
    send();
  });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || isComposing(event)) return;
    event.stopPropagation();
    leave();
  });
  return {
    element,
    focus: () => {
      area.focus();
      area.setSelectionRange(text.length, text.length);
    },
  };
}
