// The figures of the overview, each linking to its details: large ones for what an owner looks for (answers, cost, problems), and a calm
// strip with the rest.

import { sparkline } from "../../../components/chart.js";
import { badge } from "../../../shared/controls.js";
import { counted } from "../../../shared/count.js";
import { fill, make } from "../../../shared/dom.js";
import { ago, compact, duration, money } from "../../../shared/time.js";
import { visible } from "../../../shared/visible.js";
import { texts } from "../../../texts.js";
import { overviewWords as words } from "../../../texts/overview.js";
import { share } from "./problems.js";
import { sumsByDay } from "../../usage-sums.js";

/** @import { SessionList, Status, Telemetry, UsageReport } from "../../../wire/api.js" */

/** One day alone is no trend. @param {number[]} series */
const isTrend = (series) => series.filter((n) => n > 0).length > 1;

/** A card that keeps its place; only its content changes. @param {string} label @param {string} href */
function card(label, href) {
  const value = make("dd", { class: "card-value" }, "–");
  const more = make("dd", { class: "card-more" }, " ");
  const trend = make("dd", { class: "card-trend" });
  const element = make(
    "div",
    { class: "card fact-card" },
    make("dt", {}, make("a", { href }, label)),
    value,
    more,
    trend,
  );
  let says = "";
  let held = /** @type {Node | null} */ (null);
  /**
   * @param {import("../../../shared/dom.js").Child | import("../../../shared/dom.js").Child[]} main
   * @param {string} rest
   * @param {number[]} [series]
   * @param {string} [spoken]
   */
  const say = (main, rest, series, spoken) => {
    const probe = make("div", {}, ...[main].flat());
    const next = JSON.stringify([rest, series]);
    if (next === says && held?.isEqualNode(probe)) return;
    says = next;
    held = probe.cloneNode(true);
    fill(value, ...probe.childNodes);
    more.textContent = rest || " ";
    fill(
      trend,
      series && isTrend(series) && sparkline(series),
      series && isTrend(series) && spoken && make("span", { class: "visually-hidden" }, spoken),
    );
  };
  return { element, say };
}

export function overviewCards() {
  const service = card(words.service, "#/features");
  const model = card(texts.dashboard.model, "#/config?q=model");
  const active = card(words.active, "#/sessions");
  const calls = card(words.calls, "#/usage");
  const tokens = card(words.tokens, "#/usage");
  const cost = card(words.cost, "#/usage");
  const messages = card(words.messages, "#/monitor");
  const answers = card(words.answers, "#/monitor");
  const tools = card(words.tools, "#/monitor");
  const errors = card(words.errors, "#/logs?level=error");
  const measured = [messages, answers, tools, errors];
  for (const { element } of measured) element.hidden = true;
  const hero = make("dl", { class: "hero" }, answers.element, cost.element, errors.element);
  const rest = make(
    "dl",
    { class: "cards calm" },
    service.element,
    model.element,
    active.element,
    messages.element,
    calls.element,
    tokens.element,
    tools.element,
  );

  /** @param {import("../../store.js").Held<Status> | undefined} held @param {SessionList | undefined} sessions */
  const showState = (held, sessions) => {
    const status = held?.value;
    if (status) {
      const isRunning = status.status === "running" && !held?.problem;
      const up = (status.uptime_seconds + (Date.now() - (held?.at ?? 0)) / 1000) * 1000;
      service.say(
        isRunning ? badge(texts.dashboard.running, "good", "check") : badge(texts.dashboard.unknown, "warn", "alert"),
        held?.problem
          ? texts.dashboard.asOf(ago(held.at, Date.now()))
          : `${texts.dashboard.uptime} ${duration(up)} · ${texts.dashboard.version} ${status.version}`,
      );
      const isReady = status.model_ready !== false;
      model.say(
        isReady ? visible(status.model ?? "") : badge(texts.dashboard.notReady, "warn", "key"),
        isReady ? String(status.provider ?? "") : "",
      );
    }
    if (sessions) {
      const busy = (sessions.sessions ?? []).filter((session) => session.busy).length;
      active.say(String(busy), words.activeMore(busy));
    }
  };

  /** @param {UsageReport | undefined} usage of the last days */
  const showUsage = (usage) => {
    if (!usage) return;
    const { today: sum, budget } = usage;
    const days = sumsByDay(usage.rows, usage.day, usage.days);
    const requests = requestsByDay(usage, days);
    const spoken = (/** @type {string} */ what, /** @type {(string | number)[]} */ values) =>
      words.trend(what, values.join(", "));
    calls.say(
      counted(sum.requests),
      sum.requests === 0
        ? words.noCalls
        : sum.failed > 0
          ? words.failed(share(sum.failed, sum.requests))
          : words.noneFailed,
      requests,
      spoken(words.calls, requests),
    );
    tokens.say(
      compact(sum.input_tokens + sum.output_tokens),
      words.tokensMore(compact(sum.input_tokens), compact(sum.output_tokens)),
      days.map((day) => day.tokens),
      spoken(
        words.tokens,
        days.map((day) => compact(day.tokens)),
      ),
    );
    const limit =
      budget.daily_usd > 0
        ? `${texts.usage.ceilingLine(money(budget.daily_usd))} · ${texts.usage.states[/** @type {"ok"} */ (budget.state)] ?? ""}`
        : texts.usage.noCeiling;
    cost.say(
      money(budget.spent_usd),
      limit,
      days.map((day) => day.cost),
      spoken(
        words.cost,
        days.map((day) => money(day.cost)),
      ),
    );
  };
  /** @param {Telemetry | undefined} telemetry if it is enabled */
  const showMeasured = (telemetry) => {
    const sums = telemetry?.enabled && telemetry.summary?.today;
    if (!telemetry || !sums) return;
    for (const { element } of measured) element.hidden = false;
    const days = telemetry.days ?? [];
    const trend = (/** @type {string} */ what, /** @type {(number | string)[]} */ values) =>
      words.trend(what, values.join(", "));
    const counts = days.map((day) => day.total_messages);
    messages.say(
      counted(sums.total_messages),
      sums.total_messages === 0 ? words.noMessages : words.messagesMore,
      counts,
      trend(words.messages, counts),
    );
    answers.say(
      counted(sums.total_turns),
      sums.total_turns > 0 && sums.p50_turn_duration > 0 ? words.half(duration(sums.p50_turn_duration * 1000)) : "",
    );
    tools.say(
      counted(sums.total_tool_calls),
      sums.total_tool_calls > 0 ? words.toolsMore(share(sums.tool_success_rate, 1)) : "",
    );
    // Logged errors are counted, but are not attempts.
    const rates = days.map((day) => day.error_rate);
    const more = [
      sums.error_rate > 0 && words.errorRate(share(sums.error_rate, 1)),
      sums.denied_tool_calls > 0 && words.denied(sums.denied_tool_calls),
    ];
    errors.say(
      counted(sums.error_count),
      more.filter(Boolean).join(" · ") || words.noErrors(sums.error_count),
      rates,
      trend(
        words.rate,
        rates.map((rate) => share(rate, 1)),
      ),
    );
  };
  return { hero, rest, showState, showUsage, showMeasured };
}

/** @param {UsageReport} usage @param {{day: string}[]} days */
function requestsByDay(usage, days) {
  const counts = new Map(days.map(({ day }) => [day, 0]));
  for (const row of usage.rows) if (counts.has(row.day)) counts.set(row.day, (counts.get(row.day) ?? 0) + row.requests);
  return [...counts.values()];
}
