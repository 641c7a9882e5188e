// What the models took: today's money against the ceiling, a bar for each day, and a table by day, model and kind of work.

import { badge, note } from "../shared/controls.js";
import { make } from "../shared/dom.js";
import { compact, money } from "../shared/time.js";
import { texts } from "../texts.js";
import { fact, loaded, place, sectionHead } from "./pieces.js";
import { dayChart, dayName, meter } from "./usage-chart.js";
import { percent } from "./usage-sums.js";

/** @import { View } from "./pieces.js" */
/** @import { Store } from "./store.js" */
/** @import { UsageRow } from "./usage-sums.js" */

const words = texts.usage;
const choices = [7, 30, 90, 366];
const longest = 500;
let days = 30;

export const usagePath = () => `/api/usage?days=${days}`;
export const usageTodayPath = "/api/usage?days=1";

/** @param {Store} store @returns {View} */
export function usagePanel(store) {
  const element = make("div", {});
  // What was made last, and what it shows: it is made again only when that changes.
  let shown = /** @type {any} */ (null);
  let made = /** @type {Node | null} */ (null);
  const show = (/** @type {any} */ usage) => {
    if (shown !== usage || !made) [shown, made] = [usage, panel(usage)];
    return made;
  };
  return { element, update: () => place(element, loaded(store, usagePath(), words.failed, show)) };
}

/** @param {Store} store */
export function daysChoice(store) {
  const options = choices.map((value) => make("option", { value, selected: value === days }, words.lastDays(value)));
  const select = make("select", { class: "input", id: "usage-days" }, ...options);
  select.addEventListener("change", () => {
    days = Number(select.value);
    void store.load(usagePath());
  });
  return make("div", { class: "filters" }, make("label", { for: "usage-days" }, words.days), select);
}

/** A card for the overview. @param {any} usage */
export function spentToday(usage) {
  const budget = usage?.budget;
  if (!budget) return false;
  const value = make("a", { href: "#/usage" }, money(budget.spent_usd));
  return fact(words.spentToday, value, budget.daily_usd > 0 ? `${words.ceilingLine(money(budget.daily_usd))} · ${words.states[/** @type {"ok"} */ (budget.state)] ?? ""}` : words.noCeiling);
}

/** @param {any} usage */
function panel(usage) {
  const today = make("section", {}, sectionHead(words.today, stateBadge(usage.budget)), budgetCard(usage.budget), cards(usage.today));
  if (usage.rows.length === 0) return make("div", { class: "stack" }, today, note({ title: words.emptyTitle, text: words.empty, icon: "coins" }));
  return make(
    "div",
    { class: "stack" },
    today,
    make("section", {}, sectionHead(words.byDay), dayChart(usage)),
    make("section", {}, sectionHead(words.table), table(usage)),
  );
}

/** @param {any} budget */
function stateBadge(budget) {
  if (!(budget.daily_usd > 0)) return badge(words.noCeiling);
  if (budget.state === "exhausted") return badge(words.states.exhausted, "bad", "alert");
  if (budget.state === "warn") return badge(words.states.warn, "warn", "alert");
  return badge(words.states.ok, "good", "check");
}

/** @param {any} budget */
function budgetCard(budget) {
  const spent = money(budget.spent_usd);
  const hasCeiling = budget.daily_usd > 0;
  const aside = budget.reserved_usd > 0 && words.setAside(money(budget.reserved_usd));
  const left = hasCeiling && words.left(money(Math.max(0, budget.daily_usd - budget.spent_usd - budget.reserved_usd)));
  const more = [aside, left, hasCeiling ? words.resets : words.noCeilingHint].filter(Boolean).join(" · ");
  return make(
    "div",
    { class: "card usage-budget" },
    make("p", { class: "card-label" }, words.spentToday),
    make("p", { class: "card-value" }, hasCeiling ? words.ofCeiling(spent, money(budget.daily_usd)) : spent),
    hasCeiling && meter(budget),
    make("p", { class: "card-more" }, more),
  );
}

/** @param {any} today */
function cards(today) {
  const share = percent(today.cached_tokens, today.input_tokens);
  return make(
    "dl",
    { class: "cards" },
    fact(words.requests, compact(today.requests), today.failed > 0 ? words.failedCalls(today.failed) : words.noneFailed),
    fact(words.tokensIn, compact(today.input_tokens), today.saved_usd > 0 ? words.cachedSaving(share, money(today.saved_usd)) : words.cachedShare(share)),
    fact(words.tokensOut, compact(today.output_tokens)),
  );
}

/** @param {any} usage */
function table(usage) {
  /** @type {UsageRow[]} */
  const rows = usage.rows;
  const head = make("tr", {}, ...words.columns.map((title, column) => make("th", { scope: "col", class: column > 2 ? "number" : undefined }, title)));
  const foot = make("tr", {}, make("th", { scope: "row", colspan: 3 }, words.total), ...numbers(usage.total));
  const older = rows.length - longest;
  return make(
    "div",
    {},
    make(
      "div",
      { class: "log-box", role: "group", tabindex: "0", "aria-label": words.table },
      make("table", { class: "usage-table" }, make("thead", {}, head), make("tbody", {}, ...rows.slice(0, longest).map(line)), make("tfoot", {}, foot)),
    ),
    older > 0 && make("p", { class: "quiet" }, words.older(older)),
  );
}

/** @param {UsageRow} row */
function line(row) {
  const kind = words.kinds[/** @type {keyof typeof words.kinds} */ (row.kind)] ?? row.kind;
  return make(
    "tr",
    {},
    make("td", {}, make("time", { datetime: row.day }, dayName(row.day))),
    make("td", { class: "mono usage-model", title: row.provider || undefined }, row.model || words.unknownModel),
    make("td", {}, kind),
    ...numbers(row),
  );
}

/** @param {any} sum */
function numbers(sum) {
  const counts = [sum.requests, sum.failed, sum.input_tokens, sum.cached_tokens, sum.output_tokens];
  return [...counts.map((count) => count.toLocaleString("en")), money(sum.cost_usd)].map((text) => make("td", { class: "number" }, text));
}
