// Edits one key: a suitable field, then the diff of the file and when it takes effect, then saving. Nothing is written before the
// user has seen the diff, and only while it is still true. A change that loosens protection is saved with the token typed again,
// or belongs in a terminal.

import { codeBox, diffView } from "../../../components/code.js";
import { field, form, select, textArea, textInput } from "../../../components/form.js";
import { askWhatCounts } from "../../../shared/conflict.js";
import { button, note } from "../../../shared/controls.js";
import { draftFor } from "../../../shared/draft.js";
import { fill, make } from "../../../shared/dom.js";
import { changeSheet } from "../../../shared/sheet.js";
import { toast } from "../../../shared/toast.js";
import { watchUnsaved } from "../../../shared/unsaved.js";
import { visibleText } from "../../../shared/visible.js";
import { configWords as words } from "../../../texts/config.js";
import { conflictWords } from "../../../texts/conflict.js";
import { shell } from "../../../texts/shell.js";
import { ConfigChange } from "./change.js";
import { confirmWithToken } from "./confirm.js";
import { fieldText, parsedValue, terminalCommand } from "./model.js";
import { text } from "./value.js";

/** @import { Entry } from "./model.js" */
/** @import { Context } from "../../context.js" */
/** @import { Reviewed } from "./change.js" */

/** What the draft of a key is called. @param {string} key */
export const keyDraft = (key) => `config:${key}`;

/**
 * @param {Context} context @param {Entry} entry @param {{done: () => void, cancel: () => void, describe: (key: string) => string}} after
 */
export function keyEditor(context, entry, { done, cancel, describe }) {
  const host = make("div", { class: "stack" });
  const notice = make("div", { role: "status" });
  const change = new ConfigChange(context, entry.key);
  const asked = field({ label: words.newValue, control: controlFor(entry), hint: hintFor(entry) });
  const before = asked.control.value;
  /** The value that the key had when it was last shown or noted here. */ let known = entry.value;
  let isSaved = false;
  /** Whether what changes the key is this page itself. */ let isSaving = false;
  const draft = draftFor({ item: keyDraft(entry.key), host, controls: { value: asked.control } });
  watchUnsaved(host, () => !isSaved && asked.control.value !== before, draft.drop);

  /** Says that the key was changed elsewhere, if it was. @param {unknown} present */
  const say = (present) => {
    if (isSaving || JSON.stringify(present ?? null) === JSON.stringify(known ?? null)) return;
    known = present;
    fill(notice, note({ text: words.changedTo(visibleText(text(present))), tone: "warn", icon: "alert" }));
  };
  const preview = async (/** @type {unknown} */ value) => {
    const reviewed = await change.review(value);
    say(reviewed.present);
    show(reviewed);
  };
  const send = async () => {
    await preview(parsedValue(entry, asked.control.value));
    return false;
  };
  const editing = make(
    "div",
    { class: "stack" },
    draft.notice,
    form({ fields: { [entry.key]: asked }, body: [asked.element], submit: words.review, cancel, send, isKept: false }),
  );

  /** Puts the other value into the field; the typed text can be restored. @param {unknown} present */
  const takeTheirs = (present) => {
    const typed = asked.control.value;
    const put = (/** @type {string} */ value) => {
      asked.control.value = value;
    };
    put(fieldText({ ...entry, value: present }));
    known = present;
    const back = button({
      label: conflictWords.putBack,
      look: "button-small",
      press: () => {
        put(typed);
        fill(notice);
      },
    });
    fill(notice, note({ text: conflictWords.took, action: make("div", {}, back) }));
    fill(host, notice, editing);
    asked.control.focus();
  };

  /** Shows a fresh review in place of an outdated one. @param {Reviewed} fresh */
  const conflict = async (fresh) => {
    const compare = () => [
      diffView(
        fieldText({ ...entry, value: fresh.present }),
        fieldText({ ...entry, value: fresh.value }),
        conflictWords.ours,
      ),
    ];
    const choice = await askWhatCounts({
      name: entry.key,
      present: {},
      show: compare,
      text: words.notTrue(entry.key, visibleText(text(fresh.present))),
    });
    if (choice === "theirs") return takeTheirs(fresh.present);
    say(fresh.present);
    if (choice === "mine") return show(fresh);
    fill(host, notice, editing);
    asked.control.focus();
  };

  /** @param {Reviewed} reviewed */
  const show = (reviewed) => {
    const { value, edited, refusal } = reviewed;
    const isForTerminal = refusal?.code === "terminal_only";
    const problem = make("p", { class: "field-error", role: "alert" });
    const save = button({ label: shell.save, look: "button-primary", press: () => void keep() });
    const keep = async () => {
      save.setAttribute("aria-disabled", "true");
      isSaving = true;
      try {
        const sent = await commit(reviewed);
        isSaving = !sent?.fresh && sent !== null;
        save.setAttribute("aria-disabled", "false");
        if (!sent) return save.focus();
        if (sent.fresh) return await conflict(sent.fresh);
        isSaved = true;
        draft.drop();
        toast(sent.kept.needs_restart.length > 0 ? words.savedRestart : words.saved);
        done();
      } catch (fault) {
        isSaving = false;
        problem.textContent = /** @type {Error} */ (fault).message;
        save.setAttribute("aria-disabled", "false");
      }
    };
    const guard =
      refusal && note({ text: isForTerminal ? words.terminalOnly : words.loosens, tone: "warn", icon: "alert" });
    const says = [
      guard,
      isForTerminal && codeBox(terminalCommand(entry, value), words.terminalCommand),
      edited.overridden.length > 0 && note({ text: words.overridden, tone: "warn", icon: "alert" }),
      edited.needs_restart.length > 0 && note({ text: words.restart, icon: "info" }),
      edited.taken_over.length > 0 && note({ text: words.atOnce, icon: "check" }),
      ...edited.warnings.map((warning) =>
        note({ text: warning, tone: "warn", icon: "alert" }),
      ),
    ];
    const diff = edited.diff
      ? changeSheet(String(edited.diff).trimEnd(), shell.showDiff)
      : make("p", { class: "quiet" }, shell.noChange);
    const back = button({
      label: words.back,
      press: () => {
        fill(host, notice, editing);
        asked.control.focus();
      },
    });
    fill(
      host,
      notice,
      make("h3", {}, shell.showDiff),
      diff,
      ...says.filter(Boolean),
      problem,
      make("div", { class: "form-actions" }, back, edited.diff && !isForTerminal ? save : null),
    );
    if (isForTerminal) host.querySelector("button")?.focus();
    else save.focus();
  };

  /** @param {Reviewed} reviewed @returns {Promise<import("./change.js").Saved | null>} null if the user did not confirm it */
  const commit = async (reviewed) => {
    if (!reviewed.refusal) return change.save(reviewed, {});
    let sent = /** @type {import("./change.js").Saved | null} */ (null);
    await confirmWithToken({
      keys: reviewed.refusal.document?.keys ?? [],
      describe,
      send: async (headers) => (sent = await change.save(reviewed, headers)),
    });
    return sent;
  };
  fill(host, notice, editing);
  draft.begin();
  return { element: host, focus: () => asked.control.focus(), reset: () => preview(null), say };
}

/** @param {Entry} entry @returns {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} */
function controlFor(entry) {
  const value = fieldText(entry);
  if (entry.kind === "boolean")
    return select(
      [
        ["true", words.yes],
        ["false", words.no],
      ],
      value,
    );
  if (entry.allowed.length > 0)
    return select(
      [...(entry.fallback === null ? [["", words.unset]] : []), ...entry.allowed.map((word) => [word, word])].map(
        ([key, label]) => /** @type {[string, string]} */ ([key, label]),
      ),
      value,
    );
  if (entry.kind === "integer" || entry.kind === "number")
    return textInput({
      type: "number",
      step: entry.kind === "integer" ? 1 : "any",
      min: entry.least ?? undefined,
      max: entry.most ?? undefined,
      value,
    });
  if (entry.kind === "array" || entry.kind === "object")
    return textArea({
      class: "input mono",
      rows: Math.min(12, value.split("\n").length + 2),
      value,
      spellcheck: "false",
    });
  return textInput({ value, spellcheck: "false" });
}

/** @param {Entry} entry */
function hintFor(entry) {
  if (entry.kind === "array") return entry.isTextList ? words.linesHint : words.jsonHint;
  if (entry.kind === "object") return words.jsonHint;
  return entry.fallback === null ? words.unsetHint : undefined;
}
