// One configuration key in a drawer: its meaning, value, default, accepted values, and how to change it.

import { codeBox } from "../../../components/code.js";
import { openDrawer, pairs } from "../../../components/drawer.js";
import { errorState, state } from "../../../components/state.js";
import { badge, button, skeleton } from "../../../shared/controls.js";
import { draftOf } from "../../../shared/draft-store.js";
import { make } from "../../../shared/dom.js";
import { sentence } from "../../../shared/sentence.js";
import { visible } from "../../../shared/visible.js";
import { configWords as words } from "../../../texts/config.js";
import { shell } from "../../../texts/shell.js";
import { failed } from "../../run-action.js";
import { keyDraft, keyEditor } from "./editor.js";
import { asToml, terminalCommand } from "./model.js";
import { takes, text, valueText } from "./value.js";

/** @import { Entry } from "./model.js" */

/** @param {import("../../context.js").Context} context @param {{closed: () => void, changed: () => void}} after */
export function keyDrawer(context, { closed, changed }) {
  let drawer = /** @type {ReturnType<typeof openDrawer> | null} */ (null);
  let shown = "";
  let shownAs = "";
  /** @type {Entry[] | null} */ let entries = null;
  /** The editor that is open. @type {ReturnType<typeof keyEditor> | null} */ let editor = null;
  const close = () => {
    const open = drawer;
    drawer = null;
    shown = "";
    editor = null;
    open?.close();
  };
  const open = (/** @type {string | undefined} */ key) => {
    if (!key) return close();
    if (shown === key && editor) return;
    shown = key;
    shownAs = "";
    editor = null;
    drawer ??= openDrawer({
      title: key,
      body: [skeleton(4)],
      closed: () => {
        const wasOpen = drawer !== null;
        drawer = null;
        shown = "";
        editor = null;
        if (wasOpen) closed();
      },
    });
    draw();
  };
  const draw = () => {
    if (!drawer || !entries) return;
    const entry = entries.find(({ key }) => key === shown);
    // A change made elsewhere does not replace the text being typed.
    if (editor) return editor.say(entry?.value);
    const says = JSON.stringify(entry ?? null);
    if (says === shownAs) return;
    shownAs = says;
    if (entry?.origin && !entry.isSecret && draftOf(keyDraft(entry.key))?.isOwn) return edit(entry, false);
    drawer.show({
      title: shown,
      body: entry
        ? keyBody(
            entry,
            () => edit(entry, false),
            () => edit(entry, true),
          )
        : [state({ icon: "search", title: words.missingTitle, text: words.missing })],
    });
  };
  /** @param {Entry} entry @param {boolean} isReset */
  const edit = (entry, isReset) => {
    const again = () => {
      shownAs = "";
      editor = null;
      draw();
    };
    editor = keyEditor(context, entry, {
      cancel: again,
      describe: (key) => entries?.find((other) => other.key === key)?.description ?? "",
      done: () => {
        changed();
        again();
      },
    });
    drawer?.show({ body: [make("p", {}, ...sentence(entry.description)), editor.element] });
    if (isReset) editor.reset().catch(failed);
    else editor.focus();
  };
  const update = (/** @type {Entry[] | null} */ next) => {
    entries = next;
    draw();
  };
  /** The keys could not be loaded. @param {string} message @param {() => void} retry */
  const fail = (message, retry) => {
    if (!drawer || entries) return;
    const press = button({ label: shell.retry, icon: "retry", look: "button-small", press: retry });
    drawer.show({ body: [errorState({ title: words.failed, text: message, action: press })] });
  };
  return { open, close, update, fail };
}

/** @param {Entry} entry @param {() => void} edit @param {() => void} reset */
function keyBody(entry, edit, reset) {
  const shownValue =
    entry.isSecret && entry.value
      ? make("span", {}, words.secretSet)
      : make("span", { class: "mono" }, ...visible(valueText(entry)));
  const name = entry.key.split(".").at(-1) ?? entry.key;
  const secretName = entry.key.replaceAll(".", "-").replaceAll("_", "-");
  const value = entry.isSecret ? `"\${credential:${secretName}}"` : asToml(entry.value ?? example(entry));
  const file = `${entry.section ? `[${entry.section}]\n` : ""}${name} = ${value}`;
  const command = entry.isSecret
    ? `aethon-cli secrets set ${secretName}`
    : terminalCommand(entry, entry.value ?? example(entry));
  return [
    make("p", {}, ...sentence(entry.description)),
    pairs(
      [
        words.value,
        make(
          "span",
          { class: "config-now" },
          shownValue,
          " ",
          entry.isChanged ? badge(words.changed, "accent", "check") : badge(words.isDefault),
        ),
      ],
      entry.fallback !== undefined &&
        !entry.isSecret && [words.fallback, make("span", { class: "mono" }, ...visible(text(entry.fallback)))],
      [words.kind, entry.isSecret ? words.secret : takes(entry)],
      entry.origin && [
        words.origin,
        make(
          "span",
          {},
          words.origins[entry.origin.source] ?? entry.origin.source,
          entry.origin.place && make("span", { class: "field-hint config-place" }, ...visible(entry.origin.place)),
        ),
      ],
      entry.origin && [words.takesEffect, entry.origin.needs_restart ? words.nextStart : words.now],
    ),
    // Only if the service can edit its file; secrets are never edited here.
    entry.origin &&
      !entry.isSecret &&
      make(
        "div",
        { class: "dialog-actions" },
        button({ label: words.edit, icon: "edit", press: edit }),
        entry.origin.source === "file" && button({ label: words.toDefault, icon: "retry", press: reset }),
      ),
    make(
      "section",
      { class: "stack config-how" },
      make("h3", {}, words.howTo),
      entry.isSecret && make("p", { class: "field-hint" }, words.howToSecret),
      codeBox(file, words.howTo),
      make("h3", {}, words.howToCli),
      codeBox(command, words.howToCli),
      !entry.origin && make("p", { class: "field-hint" }, words.afterRestart),
    ),
  ].filter((piece) => piece !== undefined && piece !== false);
}

/** An example value for a key without one. @param {Entry} entry */
function example(entry) {
  if (entry.allowed.length > 0) return entry.allowed[0];
  if (entry.kind === "integer" || entry.kind === "number") return entry.least ?? 1;
  if (entry.kind === "boolean") return true;
  if (entry.kind === "array") return [];
  return entry.kind === "object" ? {} : "";
}
