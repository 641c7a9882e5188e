// Keeps what is typed into a form as a draft, and brings it back when the form is opened again. What this tab typed stands in the
// fields at once; what another tab typed, or what was typed about another state of the item, is offered and overwrites nothing.

import { draftWords as words } from "../texts/drafts.js";
import { button, note } from "./controls.js";
import { copyButton } from "./copy.js";
import { draftOf, dropDraft, keepDraft } from "./draft-store.js";
import { fill, make } from "./dom.js";
import { ago } from "./time.js";
import { visible, visibleText } from "./visible.js";

/** @import { Values } from "./draft-store.js" */
/** @typedef {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Control */

/** How long typing pauses before it is written down. */
const PAUSE = 200;
/** Texts beyond this are not kept: the storage of a browser is small. */
const LONGEST = 400000;

/** What is still to be written down, which a page that goes away does at once. @type {Set<() => void>} */
const waiting = new Set();
let isListening = false;

function listen() {
  if (isListening) return;
  isListening = true;
  const hurry = () => [...waiting].forEach((write) => write());
  addEventListener("pagehide", hurry);
  document.addEventListener("visibilitychange", hurry);
}

/**
 * @param {{item: string, host: HTMLElement, controls: Record<string, Control>}} form `item` names what is edited, `host` holds the
 *   controls
 * @returns {{notice: HTMLElement, begin: () => void, drop: () => void}} `begin` brings back what was kept, once the form is whole;
 *   `drop` forgets it
 */
export function draftFor({ item, host, controls }) {
  const notice = make("div", { class: "draft-notice", role: "status" });
  const base = read(controls);
  // What is new is made of nothing that others could change; its defaults may change with the clock.
  const isNew = item.endsWith(":");
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let timer;
  const isSame = (/** @type {Values} */ one, /** @type {Values} */ other) =>
    Object.keys(base).every((name) => (one[name] ?? "") === (other[name] ?? ""));

  const write = () => {
    stop();
    const values = read(controls);
    if (isSame(values, base)) return dropDraft(item);
    const length = Object.values(values).reduce((sum, text) => sum + text.length, 0);
    if (length <= LONGEST) keepDraft(item, values, base);
  };
  const stop = () => {
    clearTimeout(timer);
    waiting.delete(write);
  };
  const later = () => {
    listen();
    clearTimeout(timer);
    timer = setTimeout(write, PAUSE);
    waiting.add(write);
  };
  for (const kind of ["input", "change"]) host.addEventListener(kind, later);

  const drop = () => {
    stop();
    dropDraft(item);
    fill(notice);
  };
  const put = (/** @type {Values} */ values) => {
    for (const [name, control] of Object.entries(controls)) {
      const text = values[name];
      if (text === undefined || control.value === text) continue;
      // A choice that is loaded later takes it then.
      if (control instanceof HTMLSelectElement) control.dataset.wanted = text;
      control.value = text;
      for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
    }
  };
  const takeBack = (/** @type {number} */ at) => {
    const away = button({
      label: words.discard,
      look: "button-small",
      press: () => {
        put(base);
        drop();
        Object.values(controls)[0]?.focus();
      },
    });
    fill(notice, note({ text: words.isBack(ago(at)), icon: "info", action: make("div", {}, away) }));
  };
  const begin = () => {
    const draft = draftOf(item);
    if (!draft || isSame(draft.values, base)) return;
    const isTrue = isNew || isSame(draft.base, base);
    if (draft.isOwn && isTrue) {
      put(draft.values);
      return takeBack(draft.at);
    }
    const take = button({
      label: words.take,
      look: "button-small",
      press: () => {
        put(draft.values);
        if (!draft.isOwn) dropDraft(item, draft.tab);
        takeBack(draft.at);
      },
    });
    const away = button({
      label: words.discard,
      look: "button-small",
      press: () => {
        dropDraft(item, draft.tab);
        fill(notice);
      },
    });
    const says = isTrue ? words.offered(ago(draft.at)) : words.offeredOther(ago(draft.at));
    fill(
      notice,
      note({ text: says, tone: isTrue ? undefined : "warn", action: make("div", { class: "draft-actions" }, take, away) }),
    );
  };
  return { notice, begin, drop };
}

/** @param {Record<string, Control>} controls @returns {Values} */
const read = (controls) => Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value]));

/**
 * What was typed about something that is not there any more, to be copied; null if there is nothing.
 * @param {string} item @param {(name: string) => string} [nameOf] the label of a field
 */
export function leftDraft(item, nameOf = (name) => name) {
  const draft = draftOf(item);
  const typed = Object.entries(draft?.values ?? {}).filter(([name, text]) => text !== (draft?.base[name] ?? ""));
  if (!draft || typed.length === 0) return null;
  const list = make("dl", {});
  for (const [name, text] of typed) {
    const label = visibleText(nameOf(name));
    list.append(
      make("dt", {}, label),
      make(
        "dd",
        { class: "code-box" },
        make("pre", { tabindex: "0", role: "group", "aria-label": label, dir: "auto" }, ...visible(text)),
        copyButton(words.copy, () => text),
      ),
    );
  }
  const element = make("section", { class: "draft-left stack" });
  const away = button({
    label: words.discard,
    look: "button-small",
    press: () => {
      dropDraft(item, draft.tab);
      element.remove();
    },
  });
  element.append(make("p", {}, words.left(ago(draft.at))), list, make("div", {}, away));
  return element;
}
