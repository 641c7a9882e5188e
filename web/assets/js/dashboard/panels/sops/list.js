// All SOPs with a search, invalid files with their faults, and the newest runs on a second tab.

import { searchField } from "../../../components/form.js";
import { region, state } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { tabs } from "../../../components/tabs.js";
import { badge, note } from "../../../shared/controls.js";
import { fill, make } from "../../../shared/dom.js";
import { icon } from "../../../shared/icons.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { sopWords as words } from "../../../texts/sops.js";
import { ranked } from "../../matching.js";
import { hrefOf } from "../../route.js";
import { runsChanged, sopRuns } from "./runs.js";

/** @import { Path } from "../../../shared/api.js" */
/** @import { BrokenSop, Sop, SopList } from "../../../wire/api.js" */

/** @type {Path<SopList>} */
export const sopsPath = "/api/sops";

/** @param {import("../../context.js").Context} context */
export function sopList(context) {
  let query = context.query.get("q") ?? "";
  let tab = context.query.get("tab") ?? "list";
  const remember = () => context.note([], { q: query, tab: tab === "list" ? "" : tab });
  const list = sopTable(context);
  const faults = make("div", {});
  const body = make("div", {});
  // Loaded together with the list, so that it does not move when they arrive.
  const whole = make("div", {}, faults, body);
  const show = () => {
    const { sops = [], broken = [] } = context.store.get(sopsPath)?.value ?? {};
    fill(faults, broken.length > 0 && brokenNote(broken));
    const found = ranked(sops, query, (sop) => `${sop.title} ${sop.name} ${sop.description}`);
    const shown =
      found.length > 0
        ? list.show(found)
        : query
          ? state({ icon: "search", title: words.nothingTitle, text: words.nothing(visibleText(query)) })
          : state({ icon: "steps", title: words.emptyTitle, text: words.empty });
    if (body.firstChild !== shown) fill(body, shown);
    return whole;
  };
  const view = region(context, { path: sopsPath, failure: words.failed, show, lines: 6 });
  const search = searchField({
    label: words.search,
    value: query,
    delay: 80,
    change: (text) => {
      query = text.trim();
      remember();
      show();
    },
  });
  const switcher = tabs({
    label: words.list,
    current: tab,
    changed: (id) => {
      tab = id;
      remember();
    },
    tabs: [
      {
        id: "list",
        label: words.tabs.list,
        view: () => make("div", {}, make("div", { class: "bar" }, search.element), view.element),
      },
      { id: "runs", label: words.tabs.runs, view: () => sopRuns(context) },
    ],
  });
  fill(
    context.tools,
    make("a", { class: "button button-primary", href: hrefOf("sops", ["new"]) }, icon("plus"), words.write),
  );
  const refresh = () => {
    view.soon();
    if (tab === "runs") runsChanged();
  };
  return {
    element: switcher.element,
    refresh,
    live: (/** @type {import("../../panels.js").LiveEvent} */ ...[topic, data]) =>
      topic === "agents" && "sop_run" in data && runsChanged(),
  };
}

/** @param {import("../../context.js").Context} context */
function sopTable(context) {
  const { columns } = words;
  return table({
    label: words.list,
    key: (/** @type {Sop} */ row) => row.name,
    open: (row) => context.go([row.name]),
    columns: [
      {
        id: "name",
        title: columns.name,
        width: "w-l",
        sort: (row) => row.title || row.name,
        cell: (row) =>
          rowTitle({
            href: hrefOf("sops", [row.name]),
            label: visible(row.title || row.name),
            sub: visible(row.description ?? ""),
          }),
      },
      {
        id: "about",
        title: columns.about,
        isWide: true,
        class: "is-soft",
        cell: (row) => make("span", { title: visibleText(row.description ?? "") }, ...visible(row.description ?? "")),
      },
      {
        id: "steps",
        title: columns.steps,
        width: "w-xs",
        isWide: true,
        class: "is-number",
        sort: (row) => row.steps?.length ?? 0,
        cell: (row) => String(row.steps?.length ?? 0),
      },
      {
        id: "parameters",
        title: columns.parameters,
        width: "w-s",
        isWide: true,
        class: "is-soft",
        sort: (row) => row.parameters.length,
        cell: (row) => words.parameters(row.parameters.length),
      },
      {
        id: "type",
        title: columns.type,
        width: "w-s",
        sort: (row) => row.type,
        cell: (row) => badge(words.types[row.type] ?? row.type, row.type === "custom" ? "accent" : ""),
      },
    ],
  });
}

/** @param {BrokenSop[]} broken */
function brokenNote(broken) {
  const lines = broken.flatMap(({ path, faults }) =>
    faults.map(
      (fault) =>
        `${visibleText(path)}: ${words.fault(fault.line, visibleText(fault.message))}`,
    ),
  );
  return make(
    "div",
    { class: "sop-broken" },
    note({ title: words.broken(broken.length), text: lines.join("\n"), tone: "warn", icon: "alert" }),
  );
}
