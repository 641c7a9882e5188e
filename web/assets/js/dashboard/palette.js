// The command palette: finds panels, conversations and actions. Arrow keys select, Enter opens.

import { at } from "../shared/base.js";
import { openDialog } from "../shared/dialog.js";
import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { setTheme } from "../shared/theme.js";
import { ago } from "../shared/time.js";
import { visible } from "../shared/visible.js";
import { searchField } from "../components/form.js";
import { handbookWords } from "../texts/handbook.js";
import { shell } from "../texts/shell.js";
import { guarded } from "./context.js";
import { statusPath } from "../shared/status-path.js";
import { jumps } from "./jumps.js";
import { ranked } from "./matching.js";
import { panels } from "./panels.js";
import { hrefOf } from "./route.js";

/** @import { Path } from "../shared/api.js" */
/** @import { SessionList } from "../wire/api.js" */

/** @typedef {{label: string, group: string, icon: string, more?: string, words?: string, run: () => void}} Entry */

const words = shell.palette;

/** @param {{store: import("./store.js").Store, signOut: () => void}} parts */
export function openPalette({ store, signOut }) {
  if (document.querySelector(".palette")) return;
  const fixed = [...panelEntries(), ...actionEntries(store, signOut)];
  /** @type {Entry[]} */ let found = [];
  /** @type {Entry[]} */ let shown = [];
  let chosen = 0;
  let asked = 0;
  const list = make("div", { class: "palette-list", role: "listbox", id: "palette-list", "aria-label": words.label });
  const count = make("span", { class: "visually-hidden", role: "status" });
  const { element, input } = searchField({
    label: words.label,
    placeholder: words.placeholder,
    change: (text) => void type(text),
    delay: 0,
  });
  for (const [name, value] of Object.entries({
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-autocomplete": "list",
  }))
    input.setAttribute(name, value);
  const dialog = openDialog({
    title: words.label,
    look: "palette",
    body: [element, list, make("p", { class: "palette-foot" }, words.hint), count],
  });

  const draw = () => {
    const text = input.value.trim();
    shown = [...ranked(fixed, text, (entry) => `${entry.label} ${entry.words ?? ""}`), ...found];
    chosen = Math.min(chosen, Math.max(0, shown.length - 1));
    let group = "";
    const rows = [];
    for (const [index, entry] of shown.entries()) {
      if (entry.group !== group) rows.push(make("div", { class: "palette-group", role: "presentation" }, entry.group));
      group = entry.group;
      rows.push(row(entry, index));
    }
    fill(
      list,
      ...(rows.length > 0
        ? rows
        : [
            make(
              "div",
              { class: "palette-group", role: "option", "aria-disabled": "true", "aria-selected": "false" },
              words.none,
            ),
          ]),
    );
    count.textContent = words.results(shown.length);
    mark();
  };
  const row = (/** @type {Entry} */ entry, /** @type {number} */ index) => {
    const option = make(
      "div",
      { class: "palette-entry", role: "option", id: `palette-${index}`, "aria-selected": "false", data: { index } },
      icon(entry.icon),
      make("span", {}, ...visible(entry.label)),
      entry.more && make("span", { class: "palette-more" }, entry.more),
    );
    option.addEventListener("click", () => run(entry));
    option.addEventListener("pointermove", () => {
      if (chosen === index) return;
      chosen = index;
      mark();
    });
    return option;
  };
  const mark = () => {
    for (const option of list.querySelectorAll("[data-index]"))
      option.setAttribute(
        "aria-selected",
        String(/** @type {HTMLElement} */ (option).dataset.index === String(chosen)),
      );
    const current = document.getElementById(`palette-${chosen}`);
    current?.scrollIntoView({ block: "nearest" });
    if (current) input.setAttribute("aria-activedescendant", current.id);
    else input.removeAttribute("aria-activedescendant");
  };
  const run = (/** @type {Entry} */ entry) => {
    dialog.close();
    entry.run();
  };
  const type = async (/** @type {string} */ text) => {
    chosen = 0;
    draw();
    asked += 1;
    const number = asked;
    const query = text.trim();
    if (query === "") {
      found = [];
      return draw();
    }
    await new Promise((resolve) => setTimeout(resolve, 160));
    if (number !== asked || !dialog.isConnected) return;
    const sessions = await matchingSessions(query);
    if (number !== asked || !dialog.isConnected) return;
    found = sessions;
    draw();
  };
  input.addEventListener("keydown", (event) => {
    const last = shown.length - 1;
    const next = {
      ArrowDown: chosen >= last ? 0 : chosen + 1,
      ArrowUp: chosen <= 0 ? last : chosen - 1,
      PageDown: Math.min(last, chosen + 8),
      PageUp: Math.max(0, chosen - 8),
    }[event.key];
    if (event.key === "Enter" && shown[chosen]) {
      event.preventDefault();
      run(shown[chosen]);
    }
    if (next === undefined) return;
    event.preventDefault();
    chosen = Math.max(0, next);
    mark();
  });
  draw();
  input.focus();
}

/** @returns {Entry[]} */
function panelEntries() {
  const keys = Object.fromEntries(Object.entries(jumps).map(([key, id]) => [id, key]));
  return panels.map(({ id, label, icon: name }) => ({
    label,
    group: words.panels,
    icon: name,
    words: id,
    more: keys[id] && `g ${keys[id]}`,
    run: () => open(`#/${id}`),
  }));
}

/** @param {import("./store.js").Store} store @param {() => void} signOut @returns {Entry[]} */
function actionEntries(store, signOut) {
  const action = (/** @type {string} */ label, /** @type {string} */ name, /** @type {() => void} */ run) => ({
    label,
    group: words.actions,
    icon: name,
    run,
  });
  const actions = [
    action(words.newChat, "plus", () => location.assign(at(`/#/chat-${Date.now().toString(36)}`))),
    action(words.openChat, "chat", () => location.assign(at("/"))),
    action(handbookWords.title, "help", () => location.assign(at("/docs/handbook"))),
    action(words.addMemory, "memory", () => open(hrefOf("memory", ["new"]))),
    action(words.addJob, "clock", () => open(hrefOf("scheduler", ["new"]))),
    action(words.addSop, "steps", () => open(hrefOf("sops", ["new"]))),
    action(words.light, "sun", () => theme("light")),
    action(words.dark, "moon", () => theme("dark")),
    action(words.system, "screen", () => theme("system")),
  ];
  if (store.get(statusPath)?.value?.token_required) actions.push(action(words.signOut, "leave", signOut));
  return actions;
}

/** @param {"light" | "dark" | "system"} name */
function theme(name) {
  setTheme(name);
  for (const choice of document.querySelectorAll("[data-theme][aria-pressed]"))
    choice.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (choice).dataset.theme === name));
}

/** Navigates there, and moves the focus to the title. @param {string} hash */
function open(hash) {
  location.hash = hash;
  document.querySelector("h1")?.focus({ preventScroll: true });
}

/** @param {string} text @returns {Promise<Entry[]>} */
async function matchingSessions(text) {
  try {
    /** @type {Path<SessionList>} */ const path = `/api/sessions?limit=8&q=${encodeURIComponent(text)}`;
    const { sessions = [] } = await guarded(path);
    return sessions.map((session) => ({
      label: session.title || session.session_id,
      group: words.sessions,
      icon: "chat",
      more: ago(session.updated_at),
      run: () => open(hrefOf("sessions", [session.session_id])),
    }));
  } catch {
    // Panels and actions are still available.
    return [];
  }
}
