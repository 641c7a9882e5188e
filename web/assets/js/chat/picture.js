// A picture of the conversation: small in its place, large in a dialog. Only the four types that browsers show without
// running anything, and only from the bytes that came with the message.

import { button } from "../shared/controls.js";
import { openDialog } from "../shared/dialog.js";
import { make } from "../shared/dom.js";
import { texts } from "../texts.js";

const types = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * The address of a picture that holds all of it; nothing for what may not be shown.
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
      actions: [button({ label: texts.dialog.close, press: (event) => /** @type {Element} */ (event.target).closest("dialog")?.close() })],
      look: "dialog-wide",
    });
  return make("button", { type: "button", class: "picture", "aria-label": label, on: { click: open } }, make("img", { src: source, alt: "", loading: "lazy" }));
}
