// Charts in SVG: a sparkline, a bar chart with axes and values, and a meter. Each has an equivalent in words.

import { make } from "../shared/dom.js";
import { labelled, points, ticks } from "./scale.js";

const space = "http://www.w3.org/2000/svg";

/** @param {string} name @param {Record<string, string | number>} attributes @param {...(Node | string)} children */
export function svg(name, attributes, ...children) {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** A line without axes, for a card. It is decorative, so the card must contain its number. @param {number[]} values */
export function sparkline(values) {
  const [width, height] = [120, 32];
  const line = points(values, width, height);
  const path = line.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
  return svg(
    "svg",
    { class: "spark", viewBox: `0 -2 ${width} ${height + 4}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "spark-area", d: `${path}L${width} ${height}L0 ${height}Z` }),
    svg("path", { class: "spark-line", d: path }),
  );
}

/**
 * A bar chart with both axes. Each bar has a list of parts; the legend has their names.
 * @param {{label: string, bars: {name: string, parts: number[], title: string}[], value: (amount: number) => string,
 *   legend?: string[], limit?: {at: number, label: string}, height?: number, width?: number}} options `label` summarises it in a sentence;
 *   `width` is that of its place on the page, so that its text keeps its size
 */
export function barChart({ label, bars, value, legend = [], limit, height = 200, width = 720 }) {
  const [left, bottom, top] = [56, 24, 8];
  const sums = bars.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0));
  const most = Math.max(...sums, 0);
  const marks = ticks(limit && limit.at <= most * 2 ? Math.max(most, limit.at) : most);
  const highest = marks[marks.length - 1];
  const [inner, plot] = [width - left, height - bottom - top];
  const y = (/** @type {number} */ amount) => top + plot - (amount / highest) * plot;
  const slot = inner / Math.max(1, bars.length);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const mark of marks) {
    drawing.append(svg("line", { class: "axis-line", x1: left, x2: width, y1: y(mark), y2: y(mark) }));
    drawing.append(
      svg("text", { class: "axis-label", x: left - 8, y: y(mark) + 4, "text-anchor": "end" }, value(mark)),
    );
  }
  bars.forEach(({ parts, title }, index) => {
    const x = left + index * slot;
    const hit = svg("rect", { class: "chart-hit", x, y: top, width: slot, height: plot }, svg("title", {}, title));
    drawing.append(hit);
    let base = 0;
    parts.forEach((part, series) => {
      if (!(part > 0)) return;
      const tall = Math.max(1, (part / highest) * plot);
      drawing.append(
        svg("rect", {
          class: `chart-bar series-${series}`,
          x: x + slot * 0.14,
          y: y(base) - tall,
          width: Math.max(1, slot * 0.72),
          height: tall,
          rx: Math.min(3, slot * 0.2),
          "pointer-events": "none",
        }),
      );
      base += part;
    });
  });
  for (const index of labelled(bars.length, Math.max(2, Math.floor(width / 90)))) {
    const x = left + (index + 0.5) * slot;
    // Centred, the last label would stick out of the chart, so it is right-aligned.
    const place = width - x < 24 ? { x: width, "text-anchor": "end" } : { x, "text-anchor": "middle" };
    drawing.append(svg("text", { class: "axis-label", y: height - 6, ...place }, bars[index].name));
  }
  if (limit && limit.at <= highest)
    drawing.append(svg("line", { class: "chart-limit", x1: left, x2: width, y1: y(limit.at), y2: y(limit.at) }));
  const key = [...legend, ...(limit && limit.at <= highest ? [limit.label] : [])];
  return make(
    "figure",
    { class: "chart" },
    key.length > 0 && make("figcaption", { class: "chart-legend" }, ...key.map((words) => make("span", {}, words))),
    drawing,
  );
}

/**
 * A share of a whole: a bar with a role, and its text.
 * @param {{label: string, part: number, whole: number, text: string, state?: string}} options
 */
export function meterBar({ label, part, whole, text, state = "ok" }) {
  const percent = whole > 0 ? Math.min(100, (part / whole) * 100) : 0;
  const bars = svg(
    "svg",
    { viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "bar-spent", x: 0, y: 0, width: Math.round(percent * 100) / 100, height: 1 }),
  );
  return make(
    "div",
    {
      class: "meter",
      role: "meter",
      data: { state },
      "aria-label": label,
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-valuenow": Math.round(percent),
      "aria-valuetext": text,
    },
    bars,
  );
}
