// The configuration: every key by section, with its value, whether it was set, its meaning and how to change it. The server masks
// secrets, so they never get here. `#/config`, `#/config/KEY`, each with `?q=&changed=1`.

import { searchField, toggle } from "../../../components/form.js";
import { region, state } from "../../../components/state.js";
import { tree } from "../../../components/tree.js";
import { badge, skeleton } from "../../../shared/controls.js";
import { fill, make } from "../../../shared/dom.js";
import { sentence } from "../../../shared/sentence.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { configWords as words } from "../../../texts/config.js";
import { keyDrawer } from "./drawer.js";
import { commonSettings, grouped } from "./groups.js";
import { configEntries, sectionsOf } from "./model.js";
import { valueText } from "./value.js";
import { budgetPath } from "../../facts.js";
import { statusPath } from "../../../shared/status-path.js";
import { hrefOf, isSame } from "../../route.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { ConfigKeys } from "../../../wire/api.js" */
/** @import { Shape } from "./model.js" */

/** @type {Path<Record<string, unknown>>} */ const dumpPath = "/api/config";
/** @type {Path<Shape>} */ const schemaPath = "/api/config/schema";
/** @type {Path<ConfigKeys>} */ const originsPath = "/api/config/origins";
/** What it asks for first. @type {string[]} */
export const paths = [dumpPath, schemaPath, originsPath];

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const filter = { q: context.query.get("q") ?? "", changed: context.query.get("changed") ?? "" };
  const open = new Set(JSON.parse(sessionStorage.getItem("aethon.config.open") ?? "[]"));
  const host = make("div", {}, skeleton(10));
  const count = make("span", { class: "bar-count", role: "status" });
  const address = (/** @type {string[]} */ parts = []) => hrefOf("config", parts, filter);
  // The top line shows what it changes too.
  const changed = () => {
    refresh();
    for (const path of [statusPath, budgetPath]) void context.store.load(path);
  };
  const drawer = keyDrawer(context, {
    changed,
    closed: () => location.hash !== address() && (location.hash = address()),
  });
  const refresh = () => [dumpPath, originsPath].forEach((path) => context.store.soon(path));
  // Once the values are there, retries the other requests that failed.
  const catchUp = () =>
    /** @type {string[]} */ ([schemaPath, originsPath])
      .filter((path) => context.store.get(path)?.problem)
      .forEach((path) => context.store.soon(path));
  const tellLost = () => {
    const problem = context.store.get(dumpPath)?.problem ?? context.store.get(schemaPath)?.problem;
    if (problem)
      drawer.fail(problem.message, () => paths.forEach((path) => void context.store.load(path)));
  };
  let entries = /** @type {import("./model.js").Entry[]} */ ([]);

  const show = () => {
    // Without an answer to each question, most would be drawn to be replaced at once.
    if (!paths.every((path) => context.store.get(path))) return host;
    const schema = context.store.get(schemaPath)?.value;
    entries = configEntries(
      context.store.get(dumpPath)?.value,
      schema ?? {},
      context.store.get(originsPath)?.value?.keys,
    );
    draw();
    drawer.update(schema ? entries : null);
    return host;
  };
  const draw = () => {
    const wanted = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
    const found = entries.filter(
      (entry) =>
        (!filter.changed || entry.isChanged) &&
        wanted.every((word) => `${entry.key} ${entry.description}`.toLowerCase().includes(word)),
    );
    count.textContent = words.keys(found.length);
    if (found.length === 0) {
      fill(
        host,
        filter.q
          ? state({ icon: "search", title: words.nothingTitle, text: words.nothing(visibleText(filter.q)) })
          : state({ icon: "sliders", title: words.nothingTitle, text: words.noneChanged }),
      );
      return;
    }
    const isNarrow = filter.q !== "" || filter.changed !== "";
    const nodeOf = (/** @type {ReturnType<typeof sectionsOf>[number]} */ section) => ({
      id: section.name,
      label: [make("span", { class: "config-section" }, ...visible(section.name || words.general))],
      aside: [sectionCount(section.entries)],
      isOpen: isNarrow || open.has(section.name),
      children: () => section.entries.map((entry) => keyNode(entry, () => (location.hash = address([entry.key])))),
    });
    const toggled = (/** @type {string} */ id, /** @type {boolean} */ isOpen) => {
      if (isNarrow) return;
      if (isOpen) open.add(id);
      else open.delete(id);
      sessionStorage.setItem("aethon.config.open", JSON.stringify([...open]));
    };
    const treeOf = (/** @type {string} */ label, /** @type {ReturnType<typeof sectionsOf>} */ sections) =>
      make("div", { class: "table-wrap config-tree" }, tree(label, sections.map(nodeOf), toggled));
    const sections = sectionsOf(found);
    // What is found stands together; else it stands where it belongs.
    if (isNarrow) return fill(host, treeOf(words.tree, sections));
    fill(
      host,
      make(
        "div",
        { class: "stack" },
        commonSettings(found, (key) => address([key])),
        ...grouped(sections).map((group) =>
          make("section", {}, make("h2", { class: "config-group" }, group.label), treeOf(group.label, group.sections)),
        ),
      ),
    );
  };
  const refilter = () => {
    context.note([], filter);
    draw();
  };
  const search = searchField({
    label: words.search,
    value: filter.q,
    delay: 80,
    change: (text) => {
      filter.q = text.trim();
      refilter();
    },
  });
  const only = toggle({
    label: words.changedOnly,
    isOn: filter.changed !== "",
    change: (isOn) => {
      filter.changed = isOn ? "1" : "";
      refilter();
    },
  });
  const view = region(context, { path: dumpPath, failure: words.failed, show: () => (catchUp(), show()), lines: 10 });
  context.store.watch(dumpPath, tellLost, context.signal);
  for (const path of [schemaPath, originsPath]) {
    context.store.watch(path, show, context.signal);
    context.store.watch(path, tellLost, context.signal);
    void context.store.load(path);
  }
  fill(root, make("div", { class: "bar" }, search.element, only.element, count), view.element);
  drawer.open(context.parts[0]);
  return {
    refresh,
    live: (...[topic]) => topic === "config" && refresh(),
    route: (parts, query) => isSame(filter, query) && (drawer.open(parts[0]), true),
    unmount: drawer.close,
  };
}

/** @param {import("./model.js").Entry[]} entries */
function sectionCount(entries) {
  const changed = entries.filter((entry) => entry.isChanged).length;
  return make(
    "span",
    { class: "config-count" },
    changed > 0 && badge(words.set(changed), "accent"),
    make("span", {}, words.keys(entries.length)),
  );
}

/** @param {import("./model.js").Entry} entry @param {() => void} press */
function keyNode(entry, press) {
  const name = entry.key.split(".").at(-1) ?? entry.key;
  return {
    id: entry.key,
    label: [
      make("span", { class: "mono config-key" }, ...visible(name)),
      make("span", { class: "config-about" }, ...sentence(entry.description)),
    ],
    aside: [
      make(
        "span",
        {
          class: "mono config-value",
          data: { empty: String(entry.value === "" || entry.value === null || entry.value === undefined) },
        },
        ...visible(valueText(entry)),
      ),
      entry.isChanged && badge(words.changed, "accent", "check"),
    ],
    press,
  };
}
