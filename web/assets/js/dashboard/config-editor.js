// Edits one key: a suitable field, then the diff of the file and when it takes effect, then saving. Nothing is written before the
// user has seen the diff.

import { field, form, select, textArea, textInput } from "../components/form.js";
import { button, note } from "../shared/controls.js";
import { fill, make } from "../shared/dom.js";
import { changeSheet } from "../shared/sheet.js";
import { toast } from "../shared/toast.js";
import { configWords as words } from "../texts/config.js";
import { shell } from "../texts/shell.js";
import { fieldText, parsedValue } from "./config-model.js";

/** @import { Entry } from "./config-model.js" */
/** @import { Context } from "./context.js" */

/**
 * @param {Context} context @param {Entry} entry @param {{done: () => void, cancel: () => void}} after
 */
export function keyEditor(context, entry, { done, cancel }) {
  const host = make("div", { class: "stack" });
  const send = (/** @type {unknown} */ value, /** @type {boolean} */ isDry) => context.request(`/api/config${isDry ? "?dry_run=true" : ""}`, { method: "PATCH", body: { [entry.key]: value } });
  const asked = field({ label: words.newValue, control: controlFor(entry), hint: hintFor(entry) });
  const ask = (/** @type {(() => unknown)} */ read) => async () => {
    const value = read();
    review(value, await send(value, true));
  };
  const editing = form({ fields: { [entry.key]: asked }, body: [asked.element], submit: words.review, cancel, send: ask(() => parsedValue(entry, asked.control.value)) });

  /** @param {unknown} value @param {any} edited */
  const review = (value, edited) => {
    const problem = make("p", { class: "field-error", role: "alert" });
    const save = button({ label: shell.save, look: "button-primary", press: () => void keep() });
    const keep = async () => {
      save.setAttribute("aria-disabled", "true");
      try {
        const kept = await send(value, false);
        toast(kept.needs_restart?.length > 0 ? words.savedRestart : words.saved);
        done();
      } catch (fault) {
        problem.textContent = /** @type {Error} */ (fault).message;
        save.setAttribute("aria-disabled", "false");
      }
    };
    const says = [edited.overridden?.length > 0 && note({ text: words.overridden, tone: "warn", icon: "alert" }), edited.needs_restart?.length > 0 && note({ text: words.restart, icon: "info" }), edited.taken_over?.length > 0 && note({ text: words.atOnce, icon: "check" }), ...(edited.warnings ?? []).map((/** @type {string} */ warning) => note({ text: warning, tone: "warn", icon: "alert" }))];
    const diff = edited.diff ? changeSheet(String(edited.diff).trimEnd(), shell.showDiff) : make("p", { class: "quiet" }, shell.noChange);
    fill(host, make("h3", {}, shell.showDiff), diff, ...says.filter(Boolean), problem, make("div", { class: "form-actions" }, button({ label: words.back, press: () => fill(host, editing) }), edited.diff ? save : null));
    save.focus();
  };
  fill(host, editing);
  return { element: host, focus: () => asked.control.focus(), reset: async () => review(null, await send(null, true)) };
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
