// Edits one key: a suitable field, then the diff of the file and when it takes effect, then saving. Nothing is written before the
// user has seen the diff. A change that loosens protection is saved with the token typed again, or belongs in a terminal.

import { codeBox } from "../components/code.js";
import { field, form, select, textArea, textInput } from "../components/form.js";
import { button, note } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { changeSheet } from "../shared/sheet.js";
import { toast } from "../shared/toast.js";
import { configWords as words } from "../texts/config.js";
import { shell } from "../texts/shell.js";
import { confirmWithToken } from "./config-confirm.js";
import { fieldText, parsedValue, terminalCommand } from "./config-model.js";

/** @import { Entry } from "./config-model.js" */
/** @import { Context } from "./context.js" */
/** @import { Problem } from "../shared/api.js" */

/**
 * @param {Context} context @param {Entry} entry @param {{done: () => void, cancel: () => void, describe: (key: string) => string}} after
 */
export function keyEditor(context, entry, { done, cancel, describe }) {
  const host = make("div", { class: "stack" });
  const send = (/** @type {unknown} */ value, /** @type {boolean} */ isDry, /** @type {Record<string, string> | undefined} */ headers = undefined) => context.request(`/api/config${isDry ? "?dry_run=true" : ""}`, { method: "PATCH", body: { [entry.key]: value }, headers });
  // A refused preview still has what would change.
  const preview = async (/** @type {unknown} */ value) => {
    try {
      review(value, await send(value, true), null);
    } catch (fault) {
      const refusal = /** @type {Problem} */ (fault);
      if (!refusal.document?.change) throw fault;
      review(value, refusal.document.change, refusal);
    }
  };
  const asked = field({ label: words.newValue, control: controlFor(entry), hint: hintFor(entry) });
  const ask = (/** @type {(() => unknown)} */ read) => async () => {
    await preview(read());
  };
  const editing = form({ fields: { [entry.key]: asked }, body: [asked.element], submit: words.review, cancel, send: ask(() => parsedValue(entry, asked.control.value)) });

  /** @param {unknown} value @param {any} edited @param {Problem | null} refusal */
  const review = (value, edited, refusal) => {
    const isForTerminal = refusal?.code === "terminal_only";
    const problem = make("p", { class: "field-error", role: "alert" });
    const save = button({ label: shell.save, look: "button-primary", press: () => void keep() });
    const keep = async () => {
      save.setAttribute("aria-disabled", "true");
      try {
        let kept = /** @type {any} */ (null);
        if (refusal) await confirmWithToken({ keys: refusal.document.keys, describe, send: async (headers) => (kept = await send(value, false, headers)) });
        else kept = await send(value, false);
        save.setAttribute("aria-disabled", "false");
        if (!kept) return save.focus();
        toast(kept.needs_restart?.length > 0 ? words.savedRestart : words.saved);
        done();
      } catch (fault) {
        problem.textContent = /** @type {Error} */ (fault).message;
        save.setAttribute("aria-disabled", "false");
      }
    };
    const guard = refusal && note({ text: isForTerminal ? words.terminalOnly : words.loosens, tone: "warn", icon: "alert" });
    const says = [guard, isForTerminal && codeBox(terminalCommand(entry, value), words.terminalCommand), edited.overridden?.length > 0 && note({ text: words.overridden, tone: "warn", icon: "alert" }), edited.needs_restart?.length > 0 && note({ text: words.restart, icon: "info" }), edited.taken_over?.length > 0 && note({ text: words.atOnce, icon: "check" }), ...(edited.warnings ?? []).map((/** @type {string} */ warning) => note({ text: warning, tone: "warn", icon: "alert" }))];
    const diff = edited.diff ? changeSheet(String(edited.diff).trimEnd(), shell.showDiff) : make("p", { class: "quiet" }, shell.noChange);
    fill(host, make("h3", {}, shell.showDiff), diff, ...says.filter(Boolean), problem, make("div", { class: "form-actions" }, button({ label: words.back, press: () => fill(host, editing) }), edited.diff && !isForTerminal ? save : null));
    if (isForTerminal) host.querySelector("button")?.focus();
    else save.focus();
  };
  fill(host, editing);
  return { element: host, focus: () => asked.control.focus(), reset: () => preview(null) };
}

/** @param {Entry} entry @returns {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} */
function controlFor(entry) {
  const value = fieldText(entry);
  if (entry.kind === "boolean") return select([["true", words.yes], ["false", words.no]], value);
  if (entry.allowed.length > 0) return select([...(entry.fallback === null ? [["", words.unset]] : []), ...entry.allowed.map((word) => [word, word])].map(([key, label]) => /** @type {[string, string]} */ ([key, label])), value);
  if (entry.kind === "integer" || entry.kind === "number") return textInput({ type: "number", step: entry.kind === "integer" ? 1 : "any", min: entry.least ?? undefined, max: entry.most ?? undefined, value });
  if (entry.kind === "array" || entry.kind === "object") return textArea({ class: "input mono", rows: Math.min(12, value.split("\n").length + 2), value, spellcheck: "false" });
  return textInput({ value, spellcheck: "false" });
}

/** @param {Entry} entry */
function hintFor(entry) {
  if (entry.kind === "array") return entry.isTextList ? words.linesHint : words.jsonHint;
  if (entry.kind === "object") return words.jsonHint;
  return entry.fallback === null ? words.unsetHint : undefined;
}
