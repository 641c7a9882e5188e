// The dialog about something that was changed or deleted elsewhere while it was edited here. Escape, or a press beside it, goes
// back to the editor with everything that was typed.

import { conflictWords as words } from "../texts/conflict.js";
import { button } from "./controls.js";
import { openDialog } from "./dialog.js";
import { make } from "./dom.js";
import { ago } from "./time.js";
import { visible } from "./visible.js";

/** @import { Choice } from "./shared-item.js" */

let count = 0;

/** When the present version was made, in words, if it says so. @param {object | null} present */
export function changedWhen(present) {
  const { updated_at: updated, modified_at: modified } =
    /** @type {{updated_at?: string | null, modified_at?: string | null}} */ (present ?? {});
  const at = updated ?? modified;
  return at ? ago(at) : words.meanwhile;
}

/**
 * @param {{name: string, present: object | null, show?: () => Node[], title?: string, text?: string, mine?: string, theirs?:
 *   string, stay?: string}} options
 *   `present` is null if it was deleted; `show` makes what is compared, when that is asked for; without words for `stay` there is
 *   no button for it
 * @returns {Promise<Choice>}
 */
export function askWhatCounts({ name, present, show, title, text, mine, theirs, stay = words.stay }) {
  return new Promise((resolve) => {
    count += 1;
    /** @type {Choice} */ let choice = "stay";
    const choose = (/** @type {Choice} */ chosen) => () => {
      choice = chosen;
      dialog.close();
    };
    const compared = make("div", { class: "stack conflict-compared", id: `conflict-${count}`, hidden: true });
    const opener =
      show &&
      button({
        label: words.show,
        press: () => {
          if (!compared.firstChild) compared.append(...show());
          compared.hidden = !compared.hidden;
          dialog.classList.toggle("dialog-wide", !compared.hidden);
          opener?.setAttribute("aria-expanded", String(!compared.hidden));
          opener?.querySelector("span")?.replaceChildren(compared.hidden ? words.show : words.hide);
        },
      });
    opener?.setAttribute("aria-expanded", "false");
    opener?.setAttribute("aria-controls", compared.id);
    const said = text ?? (present ? words.text(name, changedWhen(present)) : words.goneText(name));
    const about = make("p", { id: `conflict-about-${count}` }, ...visible(said));
    const leave = stay ? button({ label: stay, look: "button-quiet", press: choose("stay") }) : undefined;
    const other = button({ label: theirs ?? (present ? words.theirs : words.letGo), press: choose("theirs") });
    const own = button({ label: mine ?? (present ? words.mine : words.mineAsNew), press: choose("mine") });
    const actions = [opener, leave, other, own].filter((action) => action !== undefined);
    const dialog = openDialog({
      title: title ?? (present ? words.title : words.goneTitle),
      body: [about, compared],
      actions,
      look: "conflict",
    });
    dialog.setAttribute("aria-describedby", about.id);
    dialog.addEventListener("close", () => resolve(choice));
    (opener ?? leave ?? other).focus();
  });
}
