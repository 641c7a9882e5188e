// Long-term memory: the list by category, a search that shows how well and by what each entry matched, and one entry in a drawer.
// `#/memory`, `#/memory/new`, `#/memory/ID`, each with `?q=&category=`.

import { oneByOne, selection } from "../../../components/selection.js";
import { cursorList } from "../../../components/cursor-list.js";
import { searchField, select } from "../../../components/form.js";
import { serverOrder } from "../../../components/server-order.js";
import { state } from "../../../components/state.js";
import { rowTitle, table } from "../../../components/table.js";
import { badge, button } from "../../../shared/controls.js";
import { confirmDialog } from "../../../shared/dialog.js";
import { fill, make } from "../../../shared/dom.js";
import { timeElement } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { memoryWords as words } from "../../../texts/memory.js";
import { toast } from "../../../shared/toast.js";
import { selectionWords } from "../../../texts/selection.js";
import { unlessGone } from "../sessions/several.js";
import { memoryDrawer } from "./drawer.js";
import { hrefOf, isSame } from "../../route.js";

/** @import { Wanted } from "../../../components/cursor-list.js" */
/** @import { Column, Order } from "../../../components/table.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { MemoryEntry, MemoryList, MemoryResults, MemoryStats } from "../../../wire/api.js" */

/** A page of the list, or what a search found. @typedef {Partial<MemoryList> & Partial<MemoryResults>} Page */
/** A memory; one that was found says how well, and by what. @typedef {MemoryEntry & {score?: number, why?: string}} Row */

/** @type {Path<Page>} */ const searchPath = "/api/memory/search";
/** @param {Record<string, string>} query @returns {Path<Page>} */
const listPath = (query) => `/api/memory?${new URLSearchParams(query)}`;


/** The fields of the service that the columns are sorted by. */
const fields = { content: "content", category: "category", source: "source", updated: "updated_at" };

/** @type {Path<MemoryStats>} */ const statsPath = "/api/memory/stats";

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const filter = { q: context.query.get("q") ?? "", category: context.query.get("category") ?? "" };
  const order = serverOrder(context.query, fields, { by: "updated", isDescending: true });
  const count = make("span", { class: "bar-count", role: "status" });
  const stats = make("p", { class: "memory-stats quiet" });
  const host = make("div", {});
  const address = (/** @type {string[]} */ parts = []) => hrefOf("memory", parts, { ...filter, ...order.parameters() });
  const changed = () => {
    list.soon();
    context.store.soon(statsPath);
  };
  const drawer = memoryDrawer(context, {
    changed,
    closed: () => location.hash !== address() && (location.hash = address()),
  });
  const restart = () => {
    context.note([], { ...filter, ...order.parameters() });
    start();
  };
  const search = searchField({
    label: words.search,
    value: filter.q,
    change: (text) => {
      filter.q = text.trim();
      restart();
    },
  });
  const categories = select(
    [["", words.allCategories(0)]],
    filter.category,
    (value) => {
      filter.category = value;
      restart();
    },
    words.category,
  );

  const showStats = () => {
    const numbers = context.store.get(statsPath)?.value;
    if (!numbers) return;
    const names = Object.keys(numbers.categories ?? {});
    if (filter.category && !names.includes(filter.category)) names.push(filter.category);
    const options = [
      ["", words.allCategories(numbers.count ?? 0)],
      ...names.map((name) => [name, words.categoryCount(visibleText(name), numbers.categories[name] ?? 0)]),
    ];
    fill(
      categories,
      ...options.map(([value, label]) => make("option", { value, selected: value === filter.category }, label)),
    );
    stats.textContent = numbers.count > 0 ? words.stats(numbers.recalled ?? 0, numbers.with_vector ?? 0) : "";
  };

  const several = severalMemories(context, changed);
  const resorted = () => context.note([], { ...filter, ...order.parameters() });
  let list = startList(context, filter, { count, address, several, order, resorted });
  const start = () => {
    list = startList(context, filter, { count, address, several, order, resorted });
    fill(host, list.element);
  };
  context.store.watch(statsPath, showStats, context.signal);
  showStats();
  void context.store.load(statsPath);
  fill(
    context.tools,
    button({ label: words.add, icon: "plus", look: "button-primary", press: () => context.go(["new"], filter) }),
  );
  fill(host, list.element);
  fill(root, make("div", { class: "bar" }, search.element, categories, count), several.bar, stats, host);
  drawer.open(context.parts[0]);
  return {
    refresh: changed,
    route: (parts, query) => isSame(filter, query) && (drawer.open(parts[0]), true),
    unmount: () => drawer.close(),
  };
}

/**
 * Starts the filtered list: a category in the wanted order, or search results by relevance.
 * @param {import("../../context.js").Context} context @param {{q: string, category: string}} filter
 * @param {{count: HTMLElement, address: (parts?: string[]) => string, several: ReturnType<typeof severalMemories>,
 *   order: ReturnType<typeof serverOrder>, resorted: () => void}} about
 */
function startList(context, filter, { count, address, several, order, resorted }) {
  const { q, category } = { ...filter };
  const isSearch = q !== "";
  const view = memoryTable(isSearch, address, several.column, isSearch ? {} : {
    sort: order.get(),
    resort: (next) => {
      order.set(next);
      resorted();
      void list.reload(true);
    },
  });
  const search = () =>
    context.request(searchPath, { method: "POST", body: { query: q, top_k: 100, ...(category && { category }) } });
  const list = cursorList(context, {
    path: (/** @type {Wanted} */ { limit, cursor }) =>
      listPath({
        limit: String(limit),
        ...(cursor && { cursor }),
        ...(category && { category }),
        ...order.parameters(),
      }),
    request: isSearch ? search : context.request,
    key: (/** @type {Row} */ row) => row.id,
    rows: (answer) => answer.results ?? answer.entries ?? [],
    show: (rows) => {
      several.keep(rows);
      return view.show(rows);
    },
    empty: (answer) => {
      several.keep([]);
      return nothing(q, category, answer);
    },
    failure: words.failed,
    page: 100,
    most: 1000,
    count,
  });
  return list;
}

/** @param {import("../../context.js").Context} context @param {() => void} changed */
function severalMemories(context, changed) {
  const remove = async (/** @type {Row[]} */ rows) => {
    const { removeTitle, removeBody, removed } = selectionWords.memory;
    if (!(await confirmDialog({ title: removeTitle(rows.length), text: removeBody, action: selectionWords.remove })))
      return [];
    const { done, problem } = await oneByOne(rows, (row) =>
      context.request(`/api/memory/${encodeURIComponent(row.id)}`, { method: "DELETE" }).catch(unlessGone),
    );
    if (done.length > 0) toast(removed(done.length));
    if (problem) toast(selectionWords.partly(rows.length - done.length, problem.message));
    changed();
    return done;
  };
  return selection({
    key: (row) => row.id,
    name: (row) => String(row.content).slice(0, 60),
    actions: [{ label: selectionWords.remove, icon: "trash", look: "button-danger", press: remove }],
  });
}

/**
 * @param {boolean} isSearch @param {(parts?: string[]) => string} address
 * @param {Column<Row>} pick
 * @param {{sort?: Order, resort?: (order: Order) => void}} order
 */
function memoryTable(isSearch, address, pick, order) {
  const { columns } = words;
  /** @type {Column<Row>[]} */
  const found = [
    {
      id: "score",
      title: columns.score,
      width: "w-xs",
      class: "is-number",
      sort: (row) => row.score,
      cell: (row) => words.score(String(Math.round((row.score ?? 0) * 100))),
    },
    {
      id: "why",
      title: columns.why,
      width: "w-m",
      isWide: true,
      class: "is-soft",
      cell: (row) => make("span", { title: visibleText(row.why ?? "") }, ...visible(row.why ?? "")),
    },
  ];
  /** @type {Column<Row>[]} */
  const aged = [
    {
      id: "source",
      title: columns.source,
      width: "w-m",
      isWide: true,
      class: "is-soft",
      sort: (row) => row.source,
      cell: (row) => sourceWords(row.source),
    },
    {
      id: "updated",
      title: columns.updated,
      width: "w-s",
      rank: 2,
      isWide: true,
      class: "is-soft",
      sort: (row) => Date.parse(row.updated_at),
      cell: (row) => timeElement(row.updated_at),
    },
  ];
  return table({
    label: words.list,
    key: (row) => row.id,
    open: (row) => {
      location.hash = address([row.id]);
    },
    ...order,
    columns: [
      pick,
      {
        id: "content",
        title: columns.content,
        sort: (row) => row.content,
        cell: (row) =>
          rowTitle({
            href: address([row.id]),
            label: visible(row.content),
            sub: [
              ...visible(row.category),
              " · ",
              ...(row.scope ? [...visible(row.scope), " · "] : []),
              ...(isSearch ? visible(row.why ?? "") : [timeElement(row.updated_at)]),
            ],
          }),
      },
      {
        id: "category",
        title: columns.category,
        width: "w-m",
        isWide: true,
        sort: (row) => row.category,
        cell: (row) =>
          make("span", {}, badge(visibleText(row.category)), ...(row.scope ? [" ", badge(scopeWords(row.scope))] : [])),
      },
      ...(isSearch ? found : aged),
    ],
  });
}

/** @param {string} source */
export const sourceWords = (source) => words.sources[source] ?? visibleText(String(source ?? ""));

/** Whose memory it is; nothing for the owner's. @param {string} scope */
export const scopeWords = (scope) => words.scopes[scope] ?? visibleText(String(scope));

/** @param {string} q @param {string} category @param {Page} answer */
function nothing(q, category, answer) {
  if (answer.enabled === false)
    return state({
      icon: "memory",
      title: words.offTitle,
      text: words.off,
      action: make("a", { class: "button", href: "#/config?q=memory.enabled" }, "memory.enabled"),
    });
  if (q) return state({ icon: "search", title: words.nothingTitle, text: words.nothing(visibleText(q)) });
  if (category) return state({ icon: "search", title: words.nothingTitle, text: words.noneInCategory });
  return state({ icon: "memory", title: words.emptyTitle, text: words.empty });
}
