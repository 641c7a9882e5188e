// The person's side of an exchange: what goes along with a message, and the box in which it is edited.

import { button } from "../shared/controls.js";
import { openDialog } from "../shared/dialog.js";
import { make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { sheet } from "../shared/sheet.js";
import { texts } from "../texts.js";
import { enterHint, isComposing, sends } from "./enter.js";
import { pictureButton, pictureSource } from "./picture.js";
import { isLong } from "./size.js";

/** @import { Attachment } from "./types.js" */

/** @param {Attachment[]} files */
export function userMessageFiles(files) {
  return make("div", { class: "said-files" }, ...files.map((file) => picture(file) ?? textFile(file)));
}

/**
 * The message itself; a long one is folded until the person asks for all of it.
 * @param {string} text
 * @param {{isOpen: boolean}} fold kept by whoever draws the message anew
 */
export function userMessageCard(text, fold) {
  const words = make("div", { class: "said-text" }, text);
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
  const open = () =>
    openDialog({
      title: name,
      body: [sheet(text ?? decode(data ?? ""), name)],
      actions: [button({ label: texts.dialog.close, press: (event) => /** @type {Element} */ (event.target).closest("dialog")?.close() })],
      look: "dialog-wide",
    });
  return make("button", { type: "button", class: "file-chip", on: { click: open } }, icon("file"), make("span", {}, name));
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
 * A box in which a message is edited. It stays until whoever opened it takes it away.
 * @param {string} text
 * @param {{send: (text: string) => void, cancel: () => void, changed: (text: string) => void}} answers
 */
export function editBox(text, { send: answer, cancel, changed }) {
  const area = make("textarea", { class: "input", "aria-label": texts.turn.editLabel, rows: 3, enterkeyhint: enterHint(), value: text });
  const send = () => area.value.trim() && answer(area.value.trim());
  area.addEventListener("input", () => changed(area.value));
  area.addEventListener("keydown", (event) => {
    if (sends(event)) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && !isComposing(event)) {
      event.stopPropagation();
      cancel();
    }
  });
  const element = make(
    "div",
    { class: "edit-box" },
    area,
    make(
      "div",
      { class: "dialog-actions" },
      button({ label: texts.turn.cancel, look: "button-small", press: cancel }),
      button({ label: texts.turn.editSend, look: "button-small button-primary", press: send }),
    ),
  );
  return {
    element,
    focus: () => {
      area.focus();
      area.setSelectionRange(text.length, text.length);
    },
  };
}
