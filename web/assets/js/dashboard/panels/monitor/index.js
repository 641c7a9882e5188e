// The live monitor: messages and tool calls of every channel as they happen, after those from before the page was opened.

import { fill, make } from "../../../shared/dom.js";
import { now as serverNow } from "../../../shared/clock.js";
import { badge, button } from "../../../shared/controls.js";
import { icon } from "../../../shared/icons.js";
import { asChange, brief, changeSheet, sheet } from "../../../shared/sheet.js";
import { duration } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { texts } from "../../../texts.js";
import { monitor as words } from "../../../texts/monitor.js";
import { codeBox } from "../../../components/code.js";
import { openDrawer, pairs } from "../../../components/drawer.js";
import { searchField, select } from "../../../components/form.js";
import { errorState, state } from "../../../components/state.js";
import { skeleton } from "../../../shared/controls.js";
import { exactTime } from "../../exact-time.js";
import { coalesce } from "../../coalesce.js";
import { liveList } from "../../live-list.js";
import { Entries, isCut } from "./entries.js";
import { course, turnList } from "./turn-list.js";
import { turnsOf } from "./turns.js";

/** @import { Entry } from "./entries.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { Conversation, Monitor } from "../../../wire/api.js" */
/** @import { LiveEvent } from "../../panels.js" */

/** How many conversations and messages the history includes. */
const past = { conversations: "24", messages: "60" };
const icons = /** @type {Record<string, string>} */ ({
  message: "chat",
  prompt: "chat",
  reply: "spark",
  tool: "tool",
  approval: "shield",
  delivery: "send",
  job: "clock",
  problem: "alert",
  note: "info",
  gap: "alert",
});
const tones = /** @type {Record<string, ["good" | "warn" | "bad" | "accent" | "", string]>} */ ({
  ok: ["good", "check"],
  sent: ["good", "check"],
  allowed: ["good", "check"],
  error: ["bad", "alert"],
  denied: ["bad", "close"],
  failed: ["bad", "alert"],
  running: ["accent", ""],
  waiting: ["warn", "shield"],
});

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const { query } = context;
  const wanted = {
    channel: query.get("channel") ?? "",
    session: query.get("session") ?? "",
    kind: query.get("kind") ?? "",
    text: query.get("q") ?? "",
    view: query.get("view") ?? "",
  };
  const entries = new Entries();
  const list = liveList({
    label: words.list,
    key: (/** @type {Entry} */ entry) => entry.key,
    columns: columnsFor(context, (session) => change({ session }), entries),
    mark: (entry) => entry.kind,
    open: (entry) => !entry.missed && openEntry(context, entry, entries),
    signal: context.signal,
  });
  const turns = turnList({
    open: (turn) => openTurn(turn, entries),
    only: (session) => change({ session }),
    nameOf: (session) => visibleText(entries.nameOf(session)),
    state: (turn) => stateOf({ ...turn, ms: null }),
    signal: context.signal,
  });
  const byTurn = () => wanted.view === "turns";
  const shownList = () => (byTurn() ? turns : list);
  const views = select(words.views, wanted.view, (view) => change({ view }), words.view);
  const count = make("span", { class: "bar-count", role: "status" });
  const only = make("div", { class: "monitor-only" });
  const about = make("p", { class: "quiet monitor-about" });
  const body = make("div", {}, skeleton(10));
  const channels = select([["", words.allChannels]], "", (channel) => change({ channel }), words.channel);
  const kinds = select(words.kinds, wanted.kind, (kind) => change({ kind }), words.kind);
  const search = searchField({ label: words.search, value: wanted.text, change: (text) => change({ text }) });
  let isKnown = false;
  let isLost = false;

  const show = (/** @type {boolean} */ isAsked) => {
    if (!isKnown) return;
    // A turn is found by any of its entries, and shown with all of them.
    const foundTurns = byTurn() ? turnsFound(entries, wanted) : null;
    const foundEntries = foundTurns ? [] : entries.matching(wanted);
    const found = foundTurns ?? foundEntries;
    const real = found.filter((entry) => !("missed" in entry && entry.missed)).length;
    const said = byTurn()
      ? words.turnCount(real)
      : words.count(real, entries.all().filter((entry) => !entry.missed && entry.kind !== "prompt").length);
    if (count.textContent !== said) count.textContent = said;
    offerChannels();
    const blank =
      found.length > 0
        ? null
        : entries.size === 0
          ? state({ icon: "pulse", title: words.emptyTitle, text: words.empty })
          : state({ icon: "search", title: words.noMatchTitle, text: words.noMatch });
    const shown = shownList();
    const view = blank ?? shown.element;
    if (body.firstChild !== view && !(blank && body.firstChild?.isEqualNode(blank))) fill(body, view);
    if (context.tools.firstChild !== shown.pause) fill(context.tools, shown.pause);
    const give = isAsked ? "show" : "offer";
    if (foundTurns) turns[give](foundTurns);
    else list[give](foundEntries);
  };
  const offerChannels = () => {
    const known = entries.channels();
    if (wanted.channel && !known.includes(wanted.channel)) known.push(wanted.channel);
    const same =
      channels.options.length === known.length + 1 &&
      known.every((name, index) => channels.options[index + 1].value === name);
    if (same || document.activeElement === channels) return;
    fill(
      channels,
      ...[["", words.allChannels], ...known.map((name) => [name, visibleText(name)])].map(([value, label]) =>
        make("option", { value, selected: value === wanted.channel }, label),
      ),
    );
  };
  const change = (/** @type {Partial<typeof wanted>} */ next) => {
    Object.assign(wanted, next);
    const { channel, session, kind, text: q, view } = wanted;
    context.note([], { channel, session, kind, q, view });
    kinds.hidden = byTurn();
    fill(
      only,
      wanted.session && badge(words.onlySession(visibleText(entries.nameOf(wanted.session))), "accent"),
      wanted.session &&
        button({ label: words.everySession, look: "button-small", press: () => change({ session: "" }) }),
    );
    show(true);
  };

  const load = async () => {
    try {
      const number = await history(context, entries, wanted.session);
      if (context.signal.aborted) return;
      about.textContent = words.history(number);
      const isFirst = !isKnown;
      isKnown = true;
      isLost = false;
      if (wanted.session) change({});
      show(isFirst);
    } catch (problem) {
      if (context.signal.aborted || isKnown) return;
      isLost = true;
      fill(
        body,
        errorState({
          title: words.failed,
          text: /** @type {Error} */ (problem).message || texts.error.server,
          action: button({ label: texts.error.again, icon: "retry", look: "button-small", press: () => void load() }),
        }),
      );
    }
  };
  fill(context.tools, list.pause);
  fill(root, make("div", { class: "bar" }, search.element, channels, kinds, views, count), only, body, about);
  change({});
  void load();

  const soon = coalesce(context, 150, () => show(false));
  let wasOpen = context.isLive();
  return {
    refresh: () => {
      // The connection was lost: loads what happened meanwhile.
      if (wasOpen || isLost) void load();
      wasOpen = true;
    },
    live: (...event) => {
      const [topic] = event;
      onEvent(entries, event, new Date(serverNow()).toISOString());
      if (topic === "lagged") void load();
      if (topic !== "logs" && topic !== "usage") soon();
    },
  };
}

/** @param {Entries} entries @param {LiveEvent} event @param {string} now */
function onEvent(entries, [topic, data], now) {
  if (topic === "messages") entries.message(data.session_id, data.message);
  if (topic === "approvals") entries.approval(data, now);
  if (topic === "scheduler") entries.job(data, now);
  if (topic === "telemetry") entries.measured(data);
  if (topic === "lagged") entries.gap(data.missed, now);
  if (topic === "sessions" && (data.change === "deleted" || data.change === "reset")) entries.forget(data.session_id);
}

/**
 * Loads the newest messages of the newest conversations, and telemetry. Returns the number of conversations.
 * @param {import("../../context.js").Context} context
 * @param {Entries} entries
 * @param {string} session
 */
async function history(context, entries, session) {
  const query = new URLSearchParams({ ...past, ...(session && { session }) });
  /** @type {Path<Monitor>} */ const path = `/api/monitor?${query}`;
  const { conversations, approvals, metrics } = await context.request(path);
  entries.name(conversations);
  for (const { session_id: id, messages } of conversations)
    for (const message of messages) entries.message(id, message);
  for (const approval of approvals) entries.approval({ ...approval, state: "open" }, "");
  for (const event of metrics) entries.measured(event);
  return conversations.length;
}

/** Describes an entry in one line. @param {Entry} entry @returns {string} */
function title(entry) {
  if (entry.kind === "gap") return words.gap(entry.missed ?? 0);
  if (entry.kind === "approval") return words.asks(entry.title);
  if (entry.detail === "image") return words.picture;
  if (entry.detail === "file") return words.file(entry.title);
  if (entry.detail.startsWith("folded ")) return words.older(Number(entry.detail.slice(7)) || 0);
  return entry.title.replace(/\s+/g, " ").slice(0, 300);
}

/**
 * @param {import("../../context.js").Context} context @param {(session: string) => void} only @param {Entries} entries
 * @returns {import("../../../components/table.js").Column<Entry>[]}
 */
const columnsFor = (context, only, entries) => [
  { id: "time", title: words.columns.time, width: "w-time", class: "is-soft", cell: (entry) => exactTime(entry.at) },
  {
    id: "kind",
    title: words.columns.kind,
    width: "w-kind",
    cell: (entry) =>
      make(
        "span",
        { class: "monitor-kind", data: { kind: entry.kind } },
        icon(icons[entry.kind] ?? "info"),
        make("span", {}, words.kindNames[entry.kind] ?? entry.kind),
      ),
  },
  {
    id: "what",
    title: words.columns.what,
    cell: (entry) => {
      if (entry.missed) return [make("span", { class: "gap-words" }, title(entry))];
      const more =
        entry.kind === "tool"
          ? brief(entry.input)
          : entry.kind === "approval" || entry.kind === "delivery" || entry.kind === "job" || entry.kind === "problem"
            ? entry.detail
            : "";
      const press = make(
        "button",
        {
          type: "button",
          class: `row-link monitor-what ${entry.kind === "tool" ? "mono small" : ""}`,
          on: { click: () => openEntry(context, entry, entries) },
        },
        ...visible(title(entry)),
      );
      return [
        press,
        more && make("span", { class: "is-soft mono small" }, " ", ...visible(more.replace(/\s+/g, " ").slice(0, 200))),
        make("span", { class: "row-sub" }, visibleText(entries.nameOf(entry.session))),
      ];
    },
  },
  {
    id: "session",
    title: words.columns.session,
    width: "w-m",
    isWide: true,
    cell: (entry) =>
      entry.session &&
      make(
        "button",
        {
          type: "button",
          class: "monitor-session",
          title: `${words.onlySession(visibleText(entries.nameOf(entry.session)))} (${visibleText(entry.session)})`,
          on: { click: () => only(entry.session) },
        },
        ...visible(entries.nameOf(entry.session)),
      ),
  },
  {
    id: "state",
    title: words.columns.state,
    width: "w-state",
    class: "monitor-state",
    cell: (entry) => entry.state && stateOf(entry),
  },
];

/**
 * The turns of which at least one entry matches.
 * @param {Entries} entries @param {{channel: string, session: string, text: string}} wanted
 */
function turnsFound(entries, { channel, session, text }) {
  const matching = new Set(
    ["", "prompt"].flatMap((kind) =>
      entries.matching({ channel, session, kind, text }).map((entry) => `${entry.session} ${entry.turn}`),
    ),
  );
  return turnsOf(entries.all()).filter(({ key }) => matching.has(key));
}

/** @param {import("./turns.js").Turn} turn @param {Entries} entries */
function openTurn(turn, entries) {
  const href = `#/sessions/${encodeURIComponent(turn.session)}`;
  const part = (/** @type {import("./turns.js").Span} */ span) =>
    make(
      "li",
      { class: "turn-part" },
      make("span", { class: "mono small", title: visibleText(span.name) }, ...visible(span.name)),
      course({ ...turn, spans: [span] }),
      make("span", { class: "is-number small" }, span.ms === null ? "" : duration(span.ms)),
    );
  openDrawer({
    title: words.turnTitle,
    body: [
      pairs(
        [words.columns.state, stateOf({ ...turn, ms: null })],
        [words.columns.time, exactTime(turn.at)],
        [words.took, turn.ms !== null && duration(turn.ms)],
        [words.conversation, make("a", { href }, visibleText(entries.nameOf(turn.session)))],
      ),
      make("section", {}, make("h3", {}, words.columns.asked), codeBox(turn.asked, words.columns.asked)),
      turn.spans.length > 0 &&
        make("section", {}, make("h3", {}, words.calls), make("ul", { class: "turn-parts", role: "list" }, ...turn.spans.map(part))),
      turn.reply && make("section", {}, make("h3", {}, words.kindNames.reply), codeBox(turn.reply, words.kindNames.reply)),
    ],
    closed: () => {},
  });
}

/** @param {{state: string, ms: number | null}} entry */
function stateOf(entry) {
  const [tone, name] = tones[entry.state] ?? ["", ""];
  const label = words.states[entry.state] ?? visibleText(entry.state);
  const took =
    entry.ms === null || entry.state === "running" ? "" : entry.ms < 1 ? " · < 1 ms" : ` · ${duration(entry.ms)}`;
  return badge(`${label}${took}`, tone, name);
}

/** @param {import("../../context.js").Context} context @param {Entry} entry @param {Entries} entries */
function openEntry(context, entry, entries) {
  const isMessage = entry.kind === "message" || entry.kind === "prompt" || entry.kind === "reply";
  const drawer = openDrawer({
    title: isMessage ? words.kindNames[entry.kind] : title(entry),
    body: parts(entry, entries),
    closed: () => {},
  });
  if (!isCut(entry)) return;
  whole(context, entry).then(
    (found) => drawer.show({ body: parts(found, entries) }),
    () => drawer.show({ body: [...parts(entry, entries), make("p", { class: "quiet" }, words.cut)] }),
  );
}

/** Loads the whole texts of an entry. @param {import("../../context.js").Context} context @param {Entry} entry */
async function whole(context, entry) {
  // With the message before it, which has the arguments of a call.
  const place = new URLSearchParams({ around: entry.message, limit: "4" });
  /** @type {Path<Conversation>} */ const path = `/api/sessions/${encodeURIComponent(entry.session)}?${place}`;
  const answer = await context.request(path);
  const found = new Entries();
  for (const message of answer.messages) found.message(entry.session, message);
  const { title: text, output, input } = found.get(entry.key) ?? entry;
  return { ...entry, title: text, output, input: input ?? entry.input };
}

/** @param {Entry} entry @param {Entries} entries */
function parts(entry, entries) {
  const change = entry.kind === "tool" && asChange(entry.input);
  const section = (/** @type {string} */ label, /** @type {Node} */ content) =>
    make("section", {}, make("h3", {}, label), content);
  return [
    pairs(
      [words.columns.state, entry.state && stateOf(entry)],
      [words.columns.time, exactTime(entry.at)],
      [
        words.conversation,
        entry.session &&
          make(
            "a",
            { href: `#/sessions/${encodeURIComponent(entry.session)}`, title: visibleText(entry.session) },
            visibleText(entries.nameOf(entry.session)),
          ),
      ],
      [words.model, entry.model && make("span", { class: "mono" }, ...visible(entry.model))],
      [words.turn, entry.turn && make("span", { class: "mono small" }, ...visible(entry.turn))],
    ),
    ...(entry.untrusted ? [make("p", { class: "field-hint" }, words.from)] : []),
    ...(entry.title && entry.kind !== "tool" && entry.kind !== "approval"
      ? [section(words.text, codeBox(entry.title, words.text))]
      : []),
    ...(entry.detail && !/^(image|file|folded)/.test(entry.detail) ? [make("p", {}, ...visible(entry.detail))] : []),
    ...(entry.input === undefined ? [] : [section(words.input, sheet(entry.input, words.input))]),
    ...(change ? [section(texts.tool.change, changeSheet(change, texts.tool.change))] : []),
    ...(entry.output ? [section(words.output, sheet(entry.output, words.output))] : []),
  ];
}
