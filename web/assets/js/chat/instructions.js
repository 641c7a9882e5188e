// The dialog for the instructions of one conversation.

import { Problem, conversationPath, exchange, request, sessionPath } from "../shared/api.js";
import { askWhatCounts } from "../shared/conflict.js";
import { button } from "../shared/controls.js";
import { openDialog } from "../shared/dialog.js";
import { make } from "../shared/dom.js";
import { SharedItem } from "../shared/shared-item.js";
import { toast } from "../shared/toast.js";
import { mayDiscard, watchUnsaved } from "../shared/unsaved.js";
import { instructionWords as words } from "../texts/slash.js";

/** The most that the server takes, in characters. */
const most = 20000;

/** @param {string} name the name of a conversation */
export async function openInstructions(name) {
  const item = new SharedItem(exchange, sessionPath(name), conversationPath(name, { limit: 1 }));
  try {
    const present = await item.peek();
    if (present) item.take(present);
    else item.takeNone();
  } catch (problem) {
    return toast(words.failed(/** @type {Error} */ (problem).message));
  }
  const before = item.value?.instructions ?? "";
  const area = make("textarea", {
    class: "input",
    id: "instructions",
    rows: 8,
    maxlength: most,
    value: before,
    "aria-describedby": "instructions-hint",
  });
  const complaint = make("p", { class: "field-error", role: "alert" });
  const turnAway = (/** @type {() => void} */ close) => void mayDiscard().then((isSure) => isSure && close());
  const form = make(
    "form",
    { class: "dialog-form" },
    make(
      "div",
      { class: "field" },
      make("label", { for: "instructions" }, words.label),
      area,
      make("p", { class: "field-hint", id: "instructions-hint" }, words.hint),
    ),
    complaint,
    make(
      "div",
      { class: "dialog-actions" },
      button({ label: words.cancel, press: () => turnAway(() => dialog.close()) }),
      button({ label: words.save, look: "button-primary", type: "submit" }),
    ),
  );
  let isSaved = false;
  const dialog = openDialog({ title: words.title, body: [form], look: "dialog-wide", closing: turnAway });
  watchUnsaved(form, () => !isSaved && area.value.trim() !== before.trim());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = area.value.trim();
    try {
      if (!item.value && (await begin(name, wanted))) {
        isSaved = true;
        dialog.close();
        return toast(wanted ? words.saved : words.cleared);
      }
      // It began meanwhile.
      if (!item.value) await item.read();
      const { outcome } = await item.send(
        { method: "PATCH", body: { instructions: wanted || null } },
        {
          // Titles and marks may have changed meanwhile; only other instructions matter here.
          isSame: (present) => [before, wanted].includes(present.instructions ?? ""),
          ask: (present) =>
            askWhatCounts({ name: words.name, present, show: () => [make("pre", { class: "prompts-theirs" }, present?.instructions ?? "")] }),
        },
      );
      if (outcome === "stay") return;
      isSaved = true;
      dialog.close();
      if (outcome === "saved") toast(wanted ? words.saved : words.cleared);
    } catch (problem) {
      complaint.textContent = /** @type {Error} */ (problem).message;
    }
  });
  area.focus();
}

/**
 * Begins a conversation with its instructions.
 * @param {string} name @param {string} instructions @returns {Promise<boolean>} false if it has begun meanwhile
 */
async function begin(name, instructions) {
  if (!instructions) return true;
  try {
    await request("/api/sessions/new", { method: "POST", body: { name, instructions } });
    return true;
  } catch (problem) {
    if (problem instanceof Problem && problem.code === "session_exists") return false;
    throw problem;
  }
}
