// Asks for one line of text in a dialog.

import { texts } from "../texts.js";
import { button } from "./controls.js";
import { openDialog } from "./dialog.js";
import { make } from "./dom.js";
import { draftFor } from "./draft.js";
import { mayDiscard, watchUnsaved } from "./unsaved.js";

/**
 * Asks for one line of text; returns null if the user cancels. What is typed is thrown away only after a question.
 * @param {{title: string, label: string, value: string, hint?: string, suggestions?: string[], mayBeEmpty?: boolean, draft?: string,
 *   send?: (text: string) => Promise<unknown>}} options `draft` names what is asked for, so that the text outlives a reload; the
 *   dialog stays open while `send` has not succeeded, and says why it failed
 * @returns {Promise<string | null>}
 */
export function promptDialog({ title, label, value, hint = "", suggestions = [], mayBeEmpty = false, draft = "", send }) {
  return new Promise((resolve) => {
    /** @type {string | null} */
    let answer = null;
    const input = make("input", {
      class: "input",
      id: "prompt-input",
      value,
      maxlength: 200,
      autocomplete: "off",
      dir: "auto",
      list: suggestions.length > 0 && "prompt-suggestions",
      "aria-describedby": [hint && "prompt-hint", "prompt-fault"].filter(Boolean).join(" "),
    });
    const fault = make("p", { class: "field-error", id: "prompt-fault", role: "alert" });
    const form = make("form", { class: "dialog-form" });
    const kept = draft ? draftFor({ item: draft, host: form, controls: { text: input } }) : null;
    const turnAway = async () => (await mayDiscard()) && dialog.close();
    const go = button({ label: texts.dialog.save, look: "button-primary", type: "submit" });
    form.append(
      ...[
        kept?.notice,
        make(
          "div",
          { class: "field" },
          make("label", { for: "prompt-input" }, label),
          input,
          hint && make("p", { class: "field-hint", id: "prompt-hint" }, hint),
          fault,
          suggestions.length > 0 &&
            make("datalist", { id: "prompt-suggestions" }, ...suggestions.map((text) => make("option", { value: text }))),
        ),
        make(
          "div",
          { class: "dialog-actions" },
          button({ label: texts.dialog.cancel, press: () => void turnAway() }),
          go,
        ),
      ].filter((part) => part instanceof Node),
    );
    let isDone = false;
    watchUnsaved(form, () => !isDone && input.value !== value, kept?.drop);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (go.getAttribute("aria-disabled") === "true") return;
      const text = input.value.trim();
      fault.textContent = "";
      if (send && text) {
        go.setAttribute("aria-disabled", "true");
        try {
          await send(text);
        } catch (problem) {
          fault.textContent = /** @type {Error} */ (problem).message;
          input.focus();
          return;
        } finally {
          go.removeAttribute("aria-disabled");
        }
      }
      answer = text;
      isDone = true;
      kept?.drop();
      dialog.close();
    });
    const dialog = openDialog({ title, body: [form], closing: () => void turnAway() });
    dialog.addEventListener("close", () => resolve(mayBeEmpty ? answer : answer || null));
    kept?.begin();
    input.select();
  });
}
