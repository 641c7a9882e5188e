// A picture in the conversation: small in place, large in a dialog. Only the four types that browsers display without running
// anything, and only from the bytes in the message.

import { button } from "../shared/controls.js";
import { openDialog } from "../shared/dialog.js";
import { make } from "../shared/dom.js";
import { texts } from "../texts.js";

const types = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * The picture as a data URL; nothing if it may not be shown.
 * @param {{mime?: unknown, data?: unknown}} picture
 */
export function pictureSource({ mime, data }) {
  if (typeof mime !== "string" || typeof data !== "string" || !types.has(mime)) return null;
  return data && !/[^A-Za-z0-9+/=]/.test(data) ? `data:${mime};base64,${data}` : null;
}

/**
 * @param {string} source from `pictureSource`
 * @param {{title: string, label: string, alt: string}} words
 */
export function pictureButton(source, { title, label, alt }) {
  const open = () =>
    openDialog({
      title,
      body: [make("img", { class: "dialog-image", src: source, alt })],
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
    { type: "button", class: "picture", "aria-label": label, on: { click: open } },
    make("img", { src: source, alt: "", loading: "lazy" }),
  );
}
