// Sums the rows of `/api/usage` by one of their fields, most expensive first. No page.

/** @import { UsageRow } from "../../usage-sums.js" */

/**
 * @typedef {{name: string, requests: number, failed: number, input_tokens: number, output_tokens: number,
 *   cached_tokens: number, cost_usd: number}} Sum
 */

const measured = /** @type {const} */ ([
  "requests",
  "failed",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "cost_usd",
]);

/** @param {UsageRow[]} rows @param {"day" | "model" | "kind"} by @returns {Sum[]} */
export function grouped(rows, by) {
  /** @type {Map<string, Sum>} */
  const sums = new Map();
  for (const row of rows) {
    const sum = sums.get(row[by]) ?? {
      name: row[by],
      requests: 0,
      failed: 0,
      input_tokens: 0,
      output_tokens: 0,
      cached_tokens: 0,
      cost_usd: 0,
    };
    for (const name of measured) sum[name] += row[name];
    sums.set(row[by], sum);
  }
  return [...sums.values()].sort((one, other) => other.cost_usd - one.cost_usd || tokens(other) - tokens(one));
}

/**
 * The sums by day of a period, oldest first, including days without usage.
 * @param {UsageRow[]} rows @param {string} today as `2026-11-20` @param {number} days @returns {Sum[]}
 */
export function everyDay(rows, today, days) {
  const last = Date.parse(`${today}T00:00:00Z`);
  if (Number.isNaN(last)) return [];
  const there = new Map(grouped(rows, "day").map((sum) => [sum.name, sum]));
  return Array.from({ length: days }, (_, index) => {
    const name = new Date(last - (days - 1 - index) * 86400000).toISOString().slice(0, 10);
    return (
      there.get(name) ?? {
        name,
        requests: 0,
        failed: 0,
        input_tokens: 0,
        output_tokens: 0,
        cached_tokens: 0,
        cost_usd: 0,
      }
    );
  });
}

/** @param {{input_tokens: number, output_tokens: number}} sum */
export const tokens = (sum) => sum.input_tokens + sum.output_tokens;

/** The parts of a day's bar. @param {Sum} sum @param {string} measure @returns {number[]} */
export function partsOf(sum, measure) {
  if (measure === "cost") return [sum.cost_usd];
  if (measure === "calls") return [sum.requests - sum.failed, sum.failed];
  return [Math.max(0, sum.input_tokens - sum.cached_tokens), sum.cached_tokens, sum.output_tokens];
}
