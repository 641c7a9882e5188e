// Confirms a change of the configuration that loosens protection: the access token is typed once more. The server decides which
// changes need it, and this page keeps the token nowhere.

import { field, form, textInput } from "../../../components/form.js";
import { openDialog } from "../../../shared/dialog.js";
import { make } from "../../../shared/dom.js";
import { sentence } from "../../../shared/sentence.js";
import { visible } from "../../../shared/visible.js";
import { configWords as words } from "../../../texts/config.js";

/**
 * Asks for the token until `send` succeeds with it, or the user cancels.
 * @param {{keys: string[], describe: (key: string) => string, send: (headers: Record<string, string>) => Promise<unknown>}} options
 * @returns {Promise<boolean>} whether it was sent
 */
export function confirmWithToken({ keys, describe, send }) {
  return new Promise((resolve) => {
    let isSent = false;
    const token = field({
      label: words.tokenAgain,
      control: textInput({ type: "password", autocomplete: "current-password", required: true }),
    });
    const ask = form({
      fields: { token },
      body: [make("p", {}, words.confirmText), keyList(keys, describe), token.element],
      submit: words.confirmAction,
      cancel: () => dialog.close(),
      isKept: false,
      send: async () => {
        // Headers carry no letters beyond Latin, so it is encoded as in an address.
        await send({ "X-Aethon-Confirm": encodeURIComponent(token.control.value) });
        isSent = true;
        dialog.close();
      },
    });
    const dialog = openDialog({ title: words.confirmTitle, body: [ask] });
    dialog.addEventListener("close", () => resolve(isSent));
    token.control.focus();
  });
}

/** The keys with what they mean. @param {string[]} keys @param {(key: string) => string} describe */
export function keyList(keys, describe) {
  return make(
    "ul",
    { class: "config-keys" },
    ...keys.map((key) =>
      make(
        "li",
        {},
        make("span", { class: "mono" }, ...visible(key)),
        " ",
        make("span", { class: "quiet" }, ...sentence(describe(key))),
      ),
    ),
  );
}
