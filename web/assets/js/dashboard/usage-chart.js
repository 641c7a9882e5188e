// Two pictures of money: a meter of today's ceiling and a bar for each day. What they show is said in words as well.

import { make } from "../shared/dom.js";
import { compact, money } from "../shared/time.js";
import { texts } from "../texts.js";
import { most, percent, sumsByDay } from "./usage-sums.js";

const words = texts.usage;
const names = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

/** A day in words; it is a day in UTC whatever the reader's zone. @param {string} day */
export function dayName(day) {
  const date = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? day : names.format(date);
}

/** How much of the ceiling is spent, and how much of it is set aside. @param {any} budget */
export function meter({ daily_usd: ceiling, spent_usd: spent, reserved_usd: reserved, state }) {
  const filled = Math.min(100, (spent / ceiling) * 100);
  const aside = Math.min(100 - filled, (reserved / ceiling) * 100);
  const text = [words.ofCeiling(money(spent), money(ceiling)), reserved > 0 && words.setAside(money(reserved))].filter(Boolean).join(", ");
  const bars = drawing("100", "1", bar(0, 0, filled, 1, "spent"), bar(filled, 0, aside, 1, "aside"));
  return make(
    "div",
    { class: "meter", role: "meter", data: { state }, "aria-label": words.meter, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": percent(spent, ceiling), "aria-valuetext": text },
    bars,
  );
}

/** A bar for each day: what it cost, or its tokens while nothing has a price. @param {any} usage */
export function dayChart(usage) {
  const sums = sumsByDay(usage.rows, usage.day, usage.days);
  const measure = usage.total.cost_usd > 0 ? "cost" : "tokens";
  const amount = (/** @type {number} */ value) => (measure === "cost" ? money(value) : words.tokens(compact(value)));
  const top = most(sums, measure);
  const total = measure === "cost" ? usage.total.cost_usd : usage.total.input_tokens + usage.total.output_tokens;
  const what = measure === "cost" ? words.costByDay : words.tokensByDay;
  const said = words.chart(what, words.lastDays(usage.days), amount(total), dayName(top.day), amount(top[measure]));
  const bars = sums.map((sum, index) => {
    const height = percent(sum[measure], top[measure]);
    const shown = bar(index + 0.12, 100 - height, 0.76, height, "day");
    // An area as high as the chart, so that a low bar can be pointed at too.
    const area = bar(index, 0, 1, 100, "area");
    const title = document.createElementNS(space, "title");
    title.textContent = words.dayIs(dayName(sum.day), amount(sum[measure]));
    area.append(title);
    return [shown, area];
  });
  const ceiling = measure === "cost" ? usage.budget.daily_usd : 0;
  const line = ceiling > 0 && ceiling <= top.cost && bar(0, 100 - (ceiling / top.cost) * 100, sums.length, 0.8, "ceiling");
  return make(
    "figure",
    { class: "card day-chart" },
    make("figcaption", { class: "chart-head" }, make("span", {}, what), line && make("span", { class: "ceiling-key" }, words.ceilingLine(money(ceiling))), make("span", {}, amount(top[measure]))),
    make("div", { role: "img", "aria-label": said }, drawing(String(sums.length), "100", ...bars.flat(), ...(line ? [line] : []))),
    make("div", { class: "chart-foot", "aria-hidden": "true" }, make("span", {}, dayName(sums[0].day)), make("span", {}, dayName(usage.day))),
  );
}

const space = "http://www.w3.org/2000/svg";

/** @param {string} width @param {string} height @param {...SVGElement} shapes */
function drawing(width, height, ...shapes) {
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  svg.append(...shapes);
  return svg;
}

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} name */
function bar(x, y, width, height, name) {
  const rect = document.createElementNS(space, "rect");
  const numbers = { x, y, width: Math.max(0, width), height };
  for (const [attribute, value] of Object.entries(numbers)) rect.setAttribute(attribute, String(Math.round(value * 1000) / 1000));
  rect.setAttribute("class", `bar-${name}`);
  return rect;
}
