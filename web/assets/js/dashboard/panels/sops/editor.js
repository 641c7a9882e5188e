// The SOP editor: the text in colours, its faults at their lines while typing, how it reads beside it, and the changes before saving.
// What others do to the SOP meanwhile is said, and never overwritten unasked.

import { diffView } from "../../../components/code.js";
import { compared } from "../../../components/compared.js";
import { field, form, textArea, textInput } from "../../../components/form.js";
import { errorState } from "../../../components/state.js";
import { button, skeleton } from "../../../shared/controls.js";
import { askWhatCounts } from "../../../shared/conflict.js";
import { leftDraft } from "../../../shared/draft.js";
import { fill, make } from "../../../shared/dom.js";
import { icon } from "../../../shared/icons.js";
import { toast } from "../../../shared/toast.js";
import { conflictWords } from "../../../texts/conflict.js";
import { shell } from "../../../texts/shell.js";
import { besideWords } from "../../../texts/sop-editor.js";
import { sopWords as words } from "../../../texts/sops.js";
import { hrefOf } from "../../route.js";
import { sharedForm } from "../../shared-form.js";
import { beside } from "./beside.js";
import { sopItem } from "./page.js";
import { painted } from "./paint.js";
import { versionsPath } from "./versions-path.js";

/** @import { SharedItem } from "../../../shared/shared-item.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { Sop, SopChecked } from "../../../wire/api.js" */
/** @import { Place } from "./paint.js" */

/** What the editor begins with. @typedef {Pick<Sop, "name" | "type" | "content">} Begun */

/** @type {Path<SopChecked>} */ const checkPath = "/api/sops/check";

/** @param {import("../../context.js").Context} context @param {string} name empty for a new one */
export function sopEditor(context, name) {
  const element = make("div", { class: "sop-editor" }, skeleton(8));
  const back = name ? hrefOf("sops", [name]) : hrefOf("sops");
  context.title(name ? words.editTitle(name) : words.newTitle, back);
  let isLost = false;
  const begin = async () => {
    isLost = false;
    try {
      const item = name ? sopItem(context, name) : null;
      /** @type {Begun} */
      const sop = item ? await item.read() : { name: "", type: "custom", content: words.template };
      if (!context.signal.aborted) edit(context, element, { sop, item, back });
    } catch (problem) {
      if (context.signal.aborted) return;
      isLost = true;
      const again = button({ label: shell.retry, icon: "retry", look: "button-small", press: () => void begin() });
      fill(
        element,
        errorState({ title: words.oneFailed, text: /** @type {Error} */ (problem).message, action: again }),
        leftDraft(`sop:${name}`, (part) => (part === "content" ? words.content : words.name)),
      );
    }
  };
  void begin();
  return { element, refresh: () => isLost && void begin(), live: undefined };
}

/**
 * @param {import("../../context.js").Context} context @param {HTMLElement} element
 * @param {{sop: Begun, item: SharedItem<Sop> | null, back: string}} edited `item` is null for a new one
 */
function edit(context, element, { sop, item, back }) {
  const before = String(sop.content ?? "");
  const fields = {
    name: field({
      label: words.name,
      control: textInput({ value: sop.name, maxlength: 64, spellcheck: "false", class: "input mono" }),
      hint: sop.type === "builtin" ? words.copyHint : words.nameHint,
    }),
    content: field({
      label: words.content,
      control: textArea({ class: "mono sop-source", value: before, rows: 24, spellcheck: "false" }),
      hint: words.contentHint,
    }),
  };
  // An existing file keeps its name.
  if (sop.name && sop.type === "custom") fields.name.element.hidden = true;
  const { control } = fields.content;
  const place = make("span", {});
  control.replaceWith(place);
  const paper = painted(control);
  place.replaceWith(paper.element);
  const lint = make("div", { class: "sop-lint", role: "status" });
  const changes = make("div", { hidden: true });
  const preview = button({ label: words.preview, look: "button-small", press: () => showChanges(changes.hidden) });
  const showChanges = (/** @type {boolean} */ isShown) => {
    changes.hidden = !isShown;
    preview.querySelector("span")?.replaceChildren(isShown ? words.hidePreview : words.preview);
    if (isShown) fill(changes, diffView(before, control.value, words.changes));
  };
  const showFaults = (/** @type {Place[]} */ faults, /** @type {Place[]} */ remarks = []) => {
    paper.mark(faults, remarks);
    fill(lint, ...faultLines(faults, paper.goTo), ...remarkLines(remarks, paper.goTo));
  };
  const aside = beside(context, {
    name: sop.type === "custom" ? sop.name : "",
    text: () => control.value,
    goTo: paper.goTo,
    take: (text) => {
      const typed = control.value;
      write(text);
      toast(besideWords.taken, { label: besideWords.undo, press: () => write(typed) });
    },
  });
  let asked = 0;
  const check = async () => {
    asked += 1;
    const number = asked;
    try {
      const { problems, remarks, html } = await context.request(checkPath, {
        method: "POST",
        body: { content: control.value },
      });
      if (number !== asked) return;
      showFaults(problems, remarks);
      aside.showPreview(html);
    } catch {
      // The last result stays; saving reports faults in any case.
    }
  };
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let timer;
  control.addEventListener("input", () => {
    aside.showOutline();
    clearTimeout(timer);
    timer = setTimeout(() => {
      void check();
      if (!changes.hidden) showChanges(true);
    }, 500);
  });
  const write = (/** @type {string} */ text) => {
    control.value = text;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const isGone = (/** @type {Sop} */ present) => sop.type === "custom" && present.type !== "custom";
  const openedAt = Date.now();
  // The file has no time of its own; the version that the change replaced has one.
  const changedAt = async () => {
    const { versions = [] } = await context.request(versionsPath(sop.name));
    const at = versions[0]?.replaced_at ?? "";
    return Date.parse(at) > openedAt - 1000 ? at : "";
  };
  const shared =
    item &&
    sharedForm({
      item,
      name: sop.name,
      signal: context.signal,
      written: () => control.value,
      write,
      read: (value) => String(value.content ?? ""),
      asText: (text) => text,
      isGone,
      changedAt,
      gone: () => context.go([]),
    });
  const send = async () => {
    const name = fields.name.control.value.trim();
    const change = { method: "PUT", body: { content: control.value } };
    const again = () => saveNew(context, name, change);
    try {
      const saved = shared && name === sop.name ? await shared.save(change, again) : await again();
      // An SOP that was deleted elsewhere is saved as new, and then has an outcome of its own.
      const outcome = saved.data && "outcome" in saved.data ? saved.data.outcome : saved.outcome;
      if (outcome !== "saved") return false;
    } catch (problem) {
      // The faults are shown below the text, each with its line.
      const { errors = [] } = /** @type {import("../../../shared/api.js").Problem} */ (problem);
      const found = errors
        .filter(({ field: at }) => at === "content")
        .map(({ message }) => ({
          line: Number(/^line (\d+)/.exec(message)?.[1] ?? 1),
          message: message.replace(/^line \d+: /, ""),
        }));
      if (found.length > 0) showFaults(found);
      throw problem;
    }
    toast(words.saved);
    context.go([name]);
    return true;
  };
  const body = [
    fields.name.element,
    make("div", { class: "sop-split" }, fields.content.element, aside.element),
    make("div", { class: "sop-under" }, lint, before && sop.name ? preview : null),
    changes,
    shared?.notice,
  ].filter(Boolean);
  fill(
    element,
    form({
      fields,
      body: /** @type {Node[]} */ (body),
      submit: shell.save,
      cancel: () => (location.hash = back),
      send,
      draft: `sop:${sop.name}`,
    }),
  );
  void check();
}

/**
 * Saves an SOP under a name that was free when the editor was opened, or not looked at. One that is there is replaced only after a
 * question.
 * @param {import("../../context.js").Context} context @param {string} name @param {{method: string, body: {content: string}}} change
 * @returns {Promise<import("../../../shared/shared-item.js").Outcome<Sop>>}
 */
async function saveNew(context, name, change) {
  const there = sopItem(context, name || "-");
  const present = await there.peek();
  const mine = change.body.content;
  const ask = (/** @type {Sop | null} */ found) =>
    askWhatCounts({
      name,
      present: found,
      title: conflictWords.exists,
      text: conflictWords.existsText(name),
      show: found ? () => compared({ base: null, theirs: String(found.content ?? ""), mine }) : undefined,
    });
  if (present) there.take(present);
  else there.takeNone();
  if (present?.data.type === "custom") {
    const choice = await ask(present.data);
    if (choice === "theirs") context.go([name, "edit"]);
    if (choice !== "mine") return { outcome: choice, data: null };
  }
  return there.send(change, { isSame: () => false, ask });
}


/** @param {Place[]} problems @param {(line: number) => void} goTo */
function faultLines(problems, goTo) {
  if (problems.length === 0) return [make("p", { class: "sop-fine" }, icon("check"), words.lintOk)];
  return [make("p", {}, words.lintFaults(problems.length)), places(problems, "alert", "sop-fault", goTo)];
}

/**
 * What was not understood, which harms nothing.
 * @param {Place[]} remarks @param {(line: number) => void} goTo
 */
function remarkLines(remarks, goTo) {
  if (remarks.length === 0) return [];
  return [make("p", {}, words.lintRemarks(remarks.length)), places(remarks, "info", "sop-fault sop-remark", goTo)];
}

/** @param {Place[]} found @param {string} sign @param {string} look @param {(line: number) => void} goTo */
function places(found, sign, look, goTo) {
  return make(
    "ul",
    { role: "list" },
    ...found.map(({ line, message }) =>
      make(
        "li",
        {},
        make(
          "button",
          { type: "button", class: look, on: { click: () => goTo(line) } },
          icon(sign),
          make("span", {}, words.fault(line, message)),
        ),
      ),
    ),
  );
}
