// The dialog with which another device signs in: a QR code of an address that counts once.

import { at } from "../../../shared/base.js";
import { button } from "../../../shared/controls.js";
import { openDialog } from "../../../shared/dialog.js";
import { make } from "../../../shared/dom.js";
import { texts } from "../../../texts.js";
import { phoneWords as words } from "../../../texts/phone.js";
import { runAction } from "../../run-action.js";

/** @import { Context } from "../../context.js" */

/** @import { Path } from "../../../shared/api.js" */
/** @import { SignInCode } from "../../../wire/api.js" */

/** @type {Path<SignInCode>} */ const codesPath = "/api/sign-in-codes";

/** The light border that readers need, in modules. */
const border = 4;

/** @param {Context} context */
export async function signInPhone(context) {
  const address = new URL(at("/"), location.href).href;
  let made = /** @type {Pick<SignInCode, "url" | "qr">} */ ({ url: "", qr: [] });
  await runAction(
    async () => {
      made = await context.request(codesPath, { method: "POST", body: { address } });
    },
    "",
    () => {
      const close = button({ label: texts.dialog.close, look: "button-primary", press: () => dialog.close() });
      const isLocal = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);
      const dialog = openDialog({
        title: words.signInPhoneTitle,
        body: [
          make("p", {}, isLocal ? words.signInPhoneLocal : words.signInPhoneText),
          drawn(made.qr),
          make("p", { class: "is-soft small" }, words.signInPhoneLink),
          make("p", { class: "mono small" }, made.url),
        ],
        actions: [close],
      });
      close.focus();
    },
  );
}

/** @param {string[]} rows */
function drawn(rows) {
  const space = "http://www.w3.org/2000/svg";
  const size = rows.length + 2 * border;
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
  svg.setAttribute("class", "qr");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", words.signInPhoneCode);
  const path = document.createElementNS(space, "path");
  const dark = rows.flatMap((row, y) => [...row].map((sign, x) => (sign === "1" ? `M${x + border} ${y + border}h1v1h-1z` : "")));
  path.setAttribute("d", dark.join(""));
  svg.append(path);
  return svg;
}
