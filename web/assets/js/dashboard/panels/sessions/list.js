// All conversations, most recently used first, with a search in titles and messages.

import { at } from "../../../shared/base.js";
import { cursorList } from "../../../components/cursor-list.js";
import { searchField, select } from "../../../components/form.js";
import { serverOrder } from "../../../components/server-order.js";
import { state } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { openBin } from "../../../shared/bin.js";
import { badge, button } from "../../../shared/controls.js";
import { counted } from "../../../shared/count.js";
import { fill, make } from "../../../shared/dom.js";
import { rowMenu } from "../../../shared/menu.js";
import { timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { binWords } from "../../../texts/bin.js";
import { sessionWords as words } from "../../../texts/sessions.js";
import { hrefOf } from "../../route.js";
import { sessionMenu, titleOf } from "../../session-actions.js";
import { severalSessions } from "./several.js";

/** @import { Wanted } from "../../../components/cursor-list.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { Session, SessionList } from "../../../wire/api.js" */

/** @param {Record<string, string>} query @returns {Path<SessionList>} */
const listPath = (query) => `/api/sessions?${new URLSearchParams(query)}`;

/** The fields of the service that the columns are sorted by. */
const fields = { title: "title", channel: "channel", messages: "message_count", updated: "updated_at" };

/** @param {import("../../context.js").Context} context */
export function sessionList(context) {
  let query = context.query.get("q") ?? "";
  let channel = context.query.get("channel") ?? "";
  const seen = new Set(["webchat", ...(channel ? [channel] : [])]);
  const count = make("span", { class: "bar-count", role: "status" });
  const order = serverOrder(context.query, fields, { by: "updated", isDescending: true });
  const note = () => context.note([], { q: query, channel, ...order.parameters() });
  const search = searchField({
    label: words.search,
    value: query,
    change: (text) => {
      query = text.trim();
      note();
      void list.reload(true);
    },
  });
  const channels = select(
    [["", words.allChannels]],
    channel,
    (value) => {
      channel = value;
      note();
      void list.reload(true);
    },
    words.channel,
  );
  const offer = (/** @type {Session[]} */ rows) => {
    for (const row of rows) seen.add(row.channel);
    const wanted = ["", ...[...seen].filter(Boolean).sort()];
    if (wanted.length !== channels.options.length)
      fill(
        channels,
        ...wanted.map((name) => make("option", { value: name, selected: name === channel }, name || words.allChannels)),
      );
  };
  offer([]);
  const several = severalSessions(context, () => list.soon());
  const view = sessionTable(context, () => list.soon(), several.column, {
    sort: order.get(),
    resort: (next) => {
      order.set(next);
      note();
      void list.reload(true);
    },
  });
  const list = cursorList(context, {
    path: (/** @type {Wanted} */ { limit, cursor }) => {
      const filters = { ...(cursor && { cursor }), ...(query && { q: query }), ...(channel && { channel }) };
      return listPath({ limit: String(limit), ...filters, ...order.parameters() });
    },
    key: (/** @type {Session} */ row) => row.session_id,
    rows: (answer) => answer.sessions ?? [],
    show: (rows) => {
      offer(rows);
      several.keep(rows);
      return view.show(rows);
    },
    empty: () => {
      several.keep([]);
      return nothing(query, channel);
    },
    failure: words.failed,
    page: 100,
    count,
  });
  const bin = button({ label: binWords.open, icon: "trash", look: "button-quiet", press: () => openBin(() => list.soon()) });
  const element = make("div", {}, make("div", { class: "bar" }, search.element, channels, count, bin), several.bar, list.element);
  return {
    element,
    refresh: list.soon,
    live: (/** @type {import("../../panels.js").LiveEvent} */ ...[topic]) => (topic === "sessions" || topic === "messages") && list.soon(),
  };
}

/**
 * @param {import("../../context.js").Context} context @param {() => void} changed
 * @param {import("../../../components/table.js").Column<Session>} pick
 * @param {{sort: import("../../../components/table.js").Order, resort: (order: import("../../../components/table.js").Order) => void}} order
 */
function sessionTable(context, changed, pick, order) {
  const { columns } = words;
  const href = (/** @type {Session} */ row) => hrefOf("sessions", [row.session_id]);
  return table({
    label: words.list,
    key: (row) => row.session_id,
    open: (row) => context.go([row.session_id]),
    ...order,
    columns: [
      pick,
      {
        id: "title",
        title: columns.title,
        sort: (row) => titleOf(row),
        cell: (row) =>
          rowTitle({
            href: href(row),
            label: visible(titleOf(row)),
            sub: [...visible(row.channel), " · ", timeElement(row.updated_at)],
          }),
      },
      {
        id: "state",
        title: columns.state,
        width: "w-s",
        isWide: true,
        cell: (row) => row.busy && badge(words.busy, "accent", "clock"),
      },
      {
        id: "channel",
        title: columns.channel,
        width: "w-s",
        isWide: true,
        sort: (row) => row.channel,
        class: "is-soft",
        cell: (row) => visible(row.channel),
      },
      {
        id: "messages",
        title: columns.messages,
        width: "w-s",
        isWide: true,
        sort: (row) => row.message_count,
        class: "is-number",
        cell: (row) => counted(row.message_count),
      },
      {
        id: "updated",
        title: columns.updated,
        width: "w-s",
        rank: 2,
        isWide: true,
        sort: (row) => Date.parse(row.updated_at),
        class: "is-soft",
        cell: (row) => timeElement(row.updated_at),
      },
      {
        id: "actions",
        title: columns.actions,
        width: "w-xs",
        isSpoken: true,
        class: "is-actions",
        cell: (row) => actions(context, row, changed),
      },
    ],
  });
}

/** @param {import("../../context.js").Context} context @param {Session} row @param {() => void} changed */
function actions(context, row, changed) {
  const label = words.actionsFor(visibleText(titleOf(row)));
  return rowMenu(label, () => sessionMenu(context, row, { changed, gone: changed }));
}

/** @param {string} query @param {string} channel */
function nothing(query, channel) {
  if (query) return state({ icon: "search", title: words.nothingTitle, text: words.nothing(visibleText(query)) });
  if (channel) return state({ icon: "search", title: words.nothingTitle, text: words.noneInChannel });
  return state({
    icon: "chat",
    title: words.emptyTitle,
    text: words.empty,
    action: make("a", { class: "button", href: at("/") }, words.openChat),
  });
}
