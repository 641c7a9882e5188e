// Model usage: today's spending against the ceiling, a chart with a bar for each day of a period, and sums by model and kind of
// work. Today and the period are kept apart; both survive a restart, because the ledger stores them.

import { counted } from "../../../shared/count.js";
import { fill, make } from "../../../shared/dom.js";
import { locale } from "../../../shared/language.js";
import { badge, button } from "../../../shared/controls.js";
import { compact, money } from "../../../shared/time.js";
import { visible, visibleText } from "../../../shared/visible.js";
import { texts } from "../../../texts.js";
import { usage as words } from "../../../texts/usage.js";
import { barChart, meterBar } from "../../../components/chart.js";
import { select } from "../../../components/form.js";
import { region, state } from "../../../components/state.js";
import { table } from "../../../components/table.js";
import { everyDay, grouped, partsOf, tokens } from "./groups.js";
import { changed, monthOf, percent, spansOf } from "../../usage-sums.js";

/** @import { UsageRow } from "../../usage-sums.js" */
/** @import { Sum } from "./groups.js" */
/** @import { Path } from "../../../shared/api.js" */
/** @import { Budget, UsageReport, UsageTotals } from "../../../wire/api.js" */
/** What the columns of figures show. @typedef {Omit<Sum, "name" | "failed">} Counted */
/** A sum with its part of the whole, in percent. @typedef {Sum & {share: number}} Shared */
/** @typedef {{days: number, measure: string, day: string, model: string, kind: string, width: number}} Wanted */

/** @param {number} days @returns {Path<UsageReport>} */
const usagePath = (days) => `/api/usage?days=${days}`;

const budgetWords = texts.usage;
const names = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" });

/** Formats a day; it is a UTC day whatever the viewer's time zone. @param {string} day */
const dayName = (day) => {
  const date = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? day : names.format(date);
};

/** @param {string} kind */
const kindName = (kind) => budgetWords.kinds[/** @type {"turn"} */ (kind)] ?? visibleText(kind);

/** @type {import("../../panels.js").Mount} */
export function mount(root, context) {
  const { query } = context;
  const span = Number(query.get("days"));
  /** @type {Wanted} */
  const wanted = {
    days: words.spans.some(([days]) => Number(days) === span) ? span : 30,
    measure: query.get("show") ?? "",
    day: query.get("day") ?? "",
    model: query.get("model") ?? "",
    kind: query.get("kind") ?? "",
    width: root.clientWidth,
  };
  const slot = make("div", {});
  let answers = /** @type {ReturnType<typeof region<UsageReport>> | null} */ (null);
  let answered = /** @type {UsageReport | null} */ (null);
  const change = (/** @type {Partial<Wanted>} */ next) => {
    Object.assign(wanted, next);
    context.note([], {
      days: wanted.days === 30 ? "" : String(wanted.days),
      show: wanted.measure,
      day: wanted.day,
      model: wanted.model,
      kind: wanted.kind,
    });
    if (next.days !== undefined) ask();
    else if (answered) fill(view, ...panel(answered, wanted, change, lists));
  };
  const view = make("div", { class: "stack" });
  // Redraws the chart for its actual width.
  const sizes = new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (Math.abs(width - wanted.width) < 24 || width === 0) return;
    wanted.width = width;
    if (answered) fill(view, ...panel(answered, wanted, change, lists));
  });
  sizes.observe(root);
  context.signal.addEventListener("abort", () => sizes.disconnect());
  const lists = tables((next) => change(next));
  const ask = () => {
    answers = region(context, {
      path: usagePath(asked(wanted.days)),
      failure: words.failed,
      lines: 12,
      show: (usage) => {
        answered = usage;
        fill(view, ...panel(usage, wanted, change, lists));
        return view;
      },
    });
    fill(slot, answers.element);
  };
  fill(
    context.tools,
    select(words.spans, String(wanted.days), (days) => change({ days: Number(days), day: "" }), words.days),
  );
  fill(root, slot);
  ask();
  const soon = () => answers?.soon();
  return { refresh: soon, live: (...[topic]) => topic === "usage" && soon() };
}

/** How many days to ask for: a span, the one before it, and this month, as far as the service goes. @param {number} days */
const asked = (days) => Math.min(366, Math.max(2 * days, 31));

/**
 * @param {UsageReport} answer
 * @param {Wanted} wanted
 * @param {(next: Partial<Wanted>) => void} change
 * @param {ReturnType<typeof tables>} lists
 * @returns {Node[]}
 */
function panel(answer, wanted, change, lists) {
  const all = answer.rows;
  const { days } = wanted;
  const { rows, before } = spansOf(all, answer.day, days);
  const usage = { ...answer, rows, days };
  const today = make(
    "section",
    {},
    head(words.today(dayName(usage.day)), stateBadge(usage.budget)),
    make("div", { class: "usage-today" }, budgetCard(usage.budget), facts(usage.today, monthOf(all, usage.day))),
  );
  if (usage.rows.length === 0)
    return [
      today,
      make(
        "section",
        {},
        head(words.last(usage.days)),
        state({ icon: "coins", title: words.emptyTitle, text: words.empty }),
      ),
    ];
  const isMeant = (/** @type {UsageRow} */ row) =>
    (!wanted.model || row.model === wanted.model) && (!wanted.kind || row.kind === wanted.kind);
  const only = rows.filter(isMeant);
  const dated = only.filter((row) => !wanted.day || row.day === wanted.day);
  return [
    today,
    make(
      "section",
      {},
      head(words.last(usage.days), chosen(wanted, change)),
      spanFacts(only, days, asked(days) >= 2 * days ? before.filter(isMeant) : []),
      chartCard(only, usage, wanted, change),
    ),
    make(
      "div",
      { class: "usage-pair" },
      make("section", {}, head(words.byModel), lists.models.show(withShare(grouped(usage.rows, "model")))),
      make("section", {}, head(words.byKind), lists.kinds.show(withShare(grouped(usage.rows, "kind")))),
    ),
    make(
      "section",
      {},
      head(words.rows),
      lists.rows.show(
        dated.map((row, index) => ({ ...row, key: `${row.day} ${row.provider} ${row.model} ${row.kind} ${index}` })),
      ),
      totalLine(dated),
    ),
  ];
}

/** @param {string} title @param {Node | false | null} [aside] */
const head = (title, aside) => make("div", { class: "section-head" }, make("h2", {}, title), aside);

/** The filters on the figures. @param {Wanted} wanted @param {(next: Partial<Wanted>) => void} change */
function chosen(wanted, change) {
  const what = [
    wanted.day && dayName(wanted.day),
    wanted.model && visibleText(wanted.model),
    wanted.kind && kindName(wanted.kind),
  ]
    .filter(Boolean)
    .join(", ");
  if (!what) return null;
  return make(
    "span",
    { class: "usage-only" },
    badge(words.only(what), "accent"),
    button({ label: words.everything, look: "button-small", press: () => change({ day: "", model: "", kind: "" }) }),
  );
}

/** @param {Budget} budget */
function stateBadge(budget) {
  if (!(budget.daily_usd > 0)) return badge(budgetWords.noCeiling);
  if (budget.state === "exhausted") return badge(budgetWords.states.exhausted, "bad", "alert");
  if (budget.state === "warn") return badge(budgetWords.states.warn, "warn", "alert");
  return badge(budgetWords.states.ok, "good", "check");
}

/** @param {Budget} budget */
function budgetCard(budget) {
  const spent = money(budget.spent_usd);
  const isLimited = budget.daily_usd > 0;
  const aside = budget.reserved_usd > 0 && budgetWords.setAside(money(budget.reserved_usd));
  const left =
    isLimited && budgetWords.left(money(Math.max(0, budget.daily_usd - budget.spent_usd - budget.reserved_usd)));
  const said = [isLimited ? budgetWords.ofCeiling(spent, money(budget.daily_usd)) : spent, aside]
    .filter(Boolean)
    .join(", ");
  return make(
    "div",
    { class: "card usage-budget" },
    make("p", { class: "card-label" }, budgetWords.spentToday),
    make("p", { class: "card-value" }, isLimited ? budgetWords.ofCeiling(spent, money(budget.daily_usd)) : spent),
    isLimited &&
      meterBar({
        label: budgetWords.meter,
        part: budget.spent_usd + budget.reserved_usd,
        whole: budget.daily_usd,
        text: said,
        state: budget.state,
      }),
    make(
      "p",
      { class: "card-more" },
      [aside, left, isLimited ? budgetWords.resets : budgetWords.noCeilingHint].filter(Boolean).join(" · "),
    ),
  );
}

/** @param {string} label @param {string} value @param {string} more */
const fact = (label, value, more) =>
  make(
    "div",
    { class: "card" },
    make("dt", {}, label),
    make("dd", { class: "card-value" }, value),
    make("dd", { class: "card-more" }, more),
  );

/** @param {UsageTotals} sum @param {{spent: number, forecast: number | null}} month */
function facts(sum, month) {
  return make(
    "dl",
    { class: "cards usage-facts" },
    fact(words.calls, compact(sum.requests), words.failedCalls(sum.failed)),
    fact(
      words.sent,
      compact(sum.input_tokens),
      words.fromCache(percent(sum.cached_tokens, sum.input_tokens)),
    ),
    fact(words.received, compact(sum.output_tokens), sum.saved_usd > 0 ? words.saved(money(sum.saved_usd)) : ""),
    fact(words.month, money(month.spent), month.forecast === null ? "" : words.forecast(money(month.forecast))),
  );
}

/** @param {UsageRow[]} rows @param {number} days @param {UsageRow[]} before the rows of the span before, none if they are not known */
function spanFacts(rows, days, before) {
  const sum = (/** @type {(row: UsageRow) => number} */ of) => rows.reduce((total, row) => total + of(row), 0);
  const than = (/** @type {(row: UsageRow) => number} */ of) =>
    words.than(changed(sum(of), before.reduce((total, row) => total + of(row), 0)), days);
  const more = (/** @type {string[]} */ ...parts) => parts.filter(Boolean).join(" · ");
  const [cost, calls, failed] = [sum((row) => row.cost_usd), sum((row) => row.requests), sum((row) => row.failed)];
  const [sent, cached, received] = [
    sum((row) => row.input_tokens),
    sum((row) => row.cached_tokens),
    sum((row) => row.output_tokens),
  ];
  return make(
    "dl",
    { class: "cards usage-facts" },
    fact(words.spent, money(cost), more(words.perDay(money(cost / days)), than((row) => row.cost_usd))),
    fact(words.calls, compact(calls), more(words.failedCalls(failed), than((row) => row.requests))),
    fact(
      words.sent,
      compact(sent),
      more(words.fromCache(percent(cached, sent)), than((row) => row.input_tokens)),
    ),
    fact(words.received, compact(received), than((row) => row.output_tokens)),
  );
}

/** @param {UsageRow[]} rows @param {UsageReport} usage @param {Wanted} wanted @param {(next: Partial<Wanted>) => void} change */
function chartCard(rows, usage, wanted, change) {
  const days = everyDay(rows, usage.day, usage.days);
  const isPriced = rows.some((row) => row.cost_usd > 0);
  const measure = words.measures.some(([id]) => id === wanted.measure) ? wanted.measure : isPriced ? "cost" : "tokens";
  const amount = (/** @type {number} */ value) => (measure === "cost" ? money(value) : compact(Math.round(value)));
  const whole = (/** @type {Sum} */ sum) => partsOf(sum, measure).reduce((total, part) => total + part, 0);
  const best = days.reduce((most, day) => (whole(day) > whole(most) ? day : most), days[0]);
  const total = days.reduce((sum, day) => sum + whole(day), 0);
  const what = words.measures.find(([id]) => id === measure)?.[1] ?? "";
  const legend = words.legend[/** @type {"cost"} */ (measure)];
  const ceiling =
    measure === "cost" && usage.budget.daily_usd > 0
      ? { at: usage.budget.daily_usd, label: budgetWords.ceilingLine(money(usage.budget.daily_usd)) }
      : undefined;
  const chart = barChart({
    label: words.chartLabel(what, words.last(usage.days), amount(total), dayName(best.name), amount(whole(best))),
    bars: days.map((day) => ({
      name: dayName(day.name),
      parts: partsOf(day, measure),
      title: words.onDay(
        dayName(day.name),
        partsOf(day, measure)
          .map((part, index) => (legend.length > 1 ? `${legend[index]} ${amount(part)}` : amount(part)))
          .join(", "),
      ),
    })),
    value: amount,
    limit: ceiling,
    width: Math.max(280, wanted.width - 32),
    height: wanted.width < 600 ? 180 : 240,
  });
  const choices = make(
    "div",
    { class: "usage-measures", role: "group", "aria-label": words.measure },
    ...words.measures.map(([id, label]) =>
      make(
        "button",
        {
          type: "button",
          class: "usage-measure",
          "aria-pressed": String(id === measure),
          on: { click: () => change({ measure: id }) },
        },
        label,
      ),
    ),
  );
  const keys =
    legend.length > 1 &&
    make(
      "ul",
      { role: "list", class: "usage-legend" },
      ...legend.map((name, index) => make("li", { class: `key-${index}` }, name)),
    );
  return make(
    "div",
    { class: "card usage-chart" },
    make("div", { class: "usage-chart-head" }, make("h3", {}, words.chart), choices),
    keys,
    chart,
  );
}

/** @param {Sum[]} sums */
function withShare(sums) {
  const isPriced = sums.some((sum) => sum.cost_usd > 0);
  const of = (/** @type {Sum} */ sum) => (isPriced ? sum.cost_usd : tokens(sum));
  const whole = sums.reduce((total, sum) => total + of(sum), 0);
  return sums.map((sum) => ({ ...sum, share: percent(of(sum), whole) }));
}

/** @param {(next: Partial<Wanted>) => void} change */
function tables(change) {
  const number = counted;
  const counts = (/** @type {boolean} */ isWide) => [
    {
      id: "calls",
      title: words.columns.calls,
      class: "is-number",
      width: "w-xs",
      sort: (/** @type {Counted} */ row) => row.requests,
      cell: (/** @type {Counted} */ row) => number(row.requests),
    },
    {
      id: "tokens",
      title: words.columns.sent,
      class: "is-number",
      width: "w-s",
      isWide: true,
      sort: (/** @type {Counted} */ row) => row.input_tokens,
      cell: (/** @type {Counted} */ row) => number(row.input_tokens),
    },
    ...(isWide
      ? [
          {
            id: "cached",
            title: words.columns.cached,
            class: "is-number",
            width: "w-s",
            isWide: true,
            sort: (/** @type {Counted} */ row) => row.cached_tokens,
            cell: (/** @type {Counted} */ row) => number(row.cached_tokens),
          },
        ]
      : []),
    {
      id: "received",
      title: words.columns.received,
      class: "is-number",
      width: "w-s",
      isWide: true,
      sort: (/** @type {Counted} */ row) => row.output_tokens,
      cell: (/** @type {Counted} */ row) => number(row.output_tokens),
    },
    {
      id: "cost",
      title: words.columns.cost,
      class: "is-number",
      width: "w-s",
      sort: (/** @type {Counted} */ row) => row.cost_usd,
      cell: (/** @type {Counted} */ row) => money(row.cost_usd),
    },
  ];
  const share = {
    id: "share",
    title: words.columns.share,
    class: "is-number",
    width: "w-s",
    isWide: true,
    sort: (/** @type {Shared} */ row) => row.share,
    cell: (/** @type {Shared} */ row) => `${row.share} %`,
  };
  const pick = (/** @type {string} */ label, /** @type {Partial<Wanted>} */ next) =>
    make("button", { type: "button", class: "row-link", on: { click: () => change(next) } }, label);
  const key = (/** @type {Shared} */ row) => row.name;
  return {
    models: table({
      label: words.byModel,
      key,
      columns: [
        {
          id: "name",
          title: words.columns.model,
          sort: (row) => row.name,
          cell: (row) => pick(visibleText(row.name) || budgetWords.unknownModel, { model: row.name }),
        },
        ...counts(false),
        share,
      ],
    }),
    kinds: table({
      label: words.byKind,
      key,
      columns: [
        {
          id: "name",
          title: words.columns.kind,
          sort: (row) => row.name,
          cell: (row) => pick(kindName(row.name), { kind: row.name }),
        },
        ...counts(false),
        share,
      ],
    }),
    rows: table({
      label: words.rows,
      key: (/** @type {UsageRow & {key: string}} */ row) => row.key,
      columns: [
        {
          id: "day",
          title: words.columns.day,
          width: "w-s",
          sort: (row) => row.day,
          cell: (row) => pick(dayName(row.day), { day: row.day }),
        },
        {
          id: "model",
          title: words.columns.model,
          sort: (row) => row.model,
          cell: (row) =>
            make("span", { title: visibleText(row.provider) }, ...visible(row.model || budgetWords.unknownModel)),
        },
        {
          id: "kind",
          title: words.columns.kind,
          width: "w-m",
          isWide: true,
          sort: (row) => row.kind,
          cell: (row) => kindName(row.kind),
        },
        {
          id: "failed",
          title: words.columns.failed,
          class: "is-number",
          width: "w-xs",
          isWide: true,
          sort: (row) => row.failed,
          cell: (row) => number(row.failed),
        },
        ...counts(true),
      ],
    }),
  };
}

/** @param {UsageRow[]} rows */
function totalLine(rows) {
  const [sum] = grouped(
    rows.map((row) => ({ ...row, day: "" })),
    "day",
  );
  if (!sum) return false;
  return make(
    "p",
    { class: "usage-total" },
    make("strong", {}, words.total),
    make("span", {}, words.totals.calls(compact(sum.requests))),
    make("span", {}, words.totals.sent(counted(sum.input_tokens))),
    make("span", {}, words.totals.received(counted(sum.output_tokens))),
    make("strong", {}, money(sum.cost_usd)),
  );
}
