// The newest log lines, live: filtered by level, target and words, with exact times; can be paused, and each line opened.

import { fill, make } from "../../../shared/dom.js";
import { badge } from "../../../shared/controls.js";
import { visible } from "../../../shared/visible.js";
import { logs as words } from "../../../texts/logs.js";
import { openDrawer, pairs } from "../../../components/drawer.js";
import { searchField, select } from "../../../components/form.js";
import { region, state } from "../../../components/state.js";
import { codeBox } from "../../../components/code.js";
import { exactTime } from "../../exact-time.js";
import { coalesce } from "../../coalesce.js";
import { liveList } from "../../live-list.js";
import { LogLines, extras, levels } from "./lines.js";

/** @import { Line } from "./lines.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { Logs } from "../../../wire/api.js" */

/** @param {string} level @returns {Path<Logs>} */
const logsPath = (level) => `/api/logs?level=${level}&limit=1000`;

const tones = /** @type {Record<string, "bad" | "warn" | "">} */ ({ error: "bad", warn: "warn" });

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const wanted = {
    level: context.query.get("level") ?? "info",
    target: context.query.get("target") ?? "",
    text: context.query.get("q") ?? "",
  };
  if (!levels.includes(wanted.level)) wanted.level = "info";
  const lines = new LogLines();
  const list = liveList({
    label: words.list,
    key: (/** @type {Line} */ line) => line.key,
    columns,
    mark: (line) => (line.missed ? "gap" : line.level),
    open: (line) => !line.missed && openLine(line),
    signal: context.signal,
  });
  const count = make("span", { class: "bar-count", role: "status" });
  const nothing = make("div", {});
  const body = make("div", {}, nothing, list.element, make("p", { class: "quiet log-kept" }, words.kept));
  const parts = select([["", words.allTargets]], "", (target) => change({ target }), words.target);
  const level = select(words.levels, wanted.level, (next) => change({ level: next }), words.level);
  const search = searchField({ label: words.search, value: wanted.text, change: (text) => change({ text }) });

  const show = (/** @type {boolean} */ isAsked) => {
    const found = lines.matching(wanted);
    const real = found.filter((line) => !line.missed).length;
    const said = words.count(real, lines.lines.filter((line) => !line.missed).length);
    if (count.textContent !== said) count.textContent = said;
    offerParts();
    list.element.hidden = found.length === 0;
    const blank =
      found.length > 0
        ? null
        : lines.lines.length === 0
          ? state({ icon: "list", title: words.emptyTitle, text: words.empty })
          : state({ icon: "search", title: words.noMatchTitle, text: words.noMatch });
    if (!blank || !nothing.firstChild?.isEqualNode(blank)) fill(nothing, blank);
    if (isAsked) list.show(found);
    else list.offer(found);
    return body;
  };
  const offerParts = () => {
    const targets = lines.targets();
    if (wanted.target && !targets.includes(wanted.target)) targets.push(wanted.target);
    const same =
      parts.options.length === targets.length + 1 &&
      targets.every((target, index) => parts.options[index + 1].value === target);
    if (same || document.activeElement === parts) return;
    fill(
      parts,
      ...[["", words.allTargets], ...targets.map((target) => [target, target])].map(([value, label]) =>
        make("option", { value, selected: value === wanted.target }, label),
      ),
    );
  };
  const change = (/** @type {Partial<typeof wanted>} */ next) => {
    const askedFor = next.level !== undefined && levels.indexOf(next.level) !== levels.indexOf(wanted.level);
    Object.assign(wanted, next);
    context.note([], { level: wanted.level === "info" ? "" : wanted.level, target: wanted.target, q: wanted.text });
    if (askedFor) ask();
    else show(true);
  };

  const slot = make("div", {});
  let answers = /** @type {ReturnType<typeof region<Logs>> | null} */ (null);
  const ask = () => {
    answers = region(context, {
      path: logsPath(wanted.level),
      failure: words.failed,
      lines: 10,
      show: ({ records = [] }) => {
        lines.reset(records);
        return show(true);
      },
    });
    fill(slot, answers.element);
  };
  fill(context.tools, list.pause);
  fill(root, make("div", { class: "bar" }, search.element, level, parts, count), slot);
  ask();

  const soon = coalesce(context, 200, () => show(false));
  return {
    refresh: () => !list.isPaused() && answers?.soon(),
    live: (...[topic, data]) => {
      if (topic === "lagged") lines.gap(data.missed, new Date().toISOString());
      else if (topic === "logs" && levels.indexOf(data.level) >= levels.indexOf(wanted.level))
        lines.add(data);
      else return;
      soon();
    },
  };
}

/** @type {import("../../../components/table.js").Column<Line>[]} */
const columns = [
  {
    id: "time",
    title: words.columns.time,
    width: "w-time",
    class: "is-soft",
    cell: (line) => (line.missed ? "" : exactTime(line.at)),
  },
  {
    id: "level",
    title: words.columns.level,
    width: "w-s",
    cell: (line) =>
      line.missed ? badge("!", "warn") : badge(line.level, tones[line.level] ?? "", tones[line.level] ? "alert" : ""),
  },
  {
    id: "target",
    title: words.columns.target,
    width: "w-l",
    isWide: true,
    class: "is-soft mono small",
    cell: (line) => visible(line.target),
  },
  {
    id: "message",
    title: words.columns.message,
    cell: (line) =>
      line.missed
        ? [make("span", { class: "gap-words" }, words.gap(line.missed))]
        : [
            make(
              "button",
              { type: "button", class: "row-link log-message", on: { click: () => openLine(line) } },
              ...visible(line.message),
            ),
            " ",
            make("span", { class: "is-soft mono small" }, ...visible(extras(line.fields))),
          ],
  },
];

/** @param {Line} line */
function openLine(line) {
  const fields = Object.entries(line.fields).map(
    ([name, value]) =>
      /** @type {[string, Node]} */ ([
        name,
        make("span", { class: "mono" }, ...visible(typeof value === "string" ? value : JSON.stringify(value))),
      ]),
  );
  openDrawer({
    title: words.line,
    body: [
      pairs(
        [words.columns.time, exactTime(line.at)],
        [words.columns.level, badge(line.level, tones[line.level] ?? "", tones[line.level] ? "alert" : "")],
        [words.columns.target, make("span", { class: "mono" }, ...visible(line.target))],
      ),
      codeBox(line.message, words.columns.message),
      fields.length > 0 && make("section", {}, make("h3", {}, words.fields), pairs(...fields)),
    ].filter((part) => part instanceof Node),
    closed: () => {},
  });
}
