// Usage arithmetic: sums by day, including days without usage, and shares.

/**
 * @typedef {{day: string, model: string, provider: string, kind: string, requests: number, failed: number,
 *   input_tokens: number, output_tokens: number, cached_tokens: number, cost_usd: number}} UsageRow
 */
/** @typedef {{day: string, cost: number, tokens: number}} DaySum */

/**
 * The sums of the last days, oldest first, `today` last.
 * @param {UsageRow[]} rows
 * @param {string} today as `2026-11-20`
 * @param {number} days
 * @returns {DaySum[]}
 */
export function sumsByDay(rows, today, days) {
  const last = Date.parse(`${today}T00:00:00Z`);
  if (Number.isNaN(last)) return [];
  const sums = Array.from({ length: days }, (_, index) => ({
    day: new Date(last - (days - 1 - index) * 86400000).toISOString().slice(0, 10),
    cost: 0,
    tokens: 0,
  }));
  const byDay = new Map(sums.map((sum) => [sum.day, sum]));
  for (const row of rows) {
    const sum = byDay.get(row.day);
    if (!sum) continue;
    sum.cost += row.cost_usd;
    sum.tokens += row.input_tokens + row.output_tokens;
  }
  return sums;
}

/** The day with the highest value. @template {Record<string, any>} T @param {T[]} sums @param {keyof T} measure */
export function most(sums, measure) {
  return sums.reduce((best, sum) => (sum[measure] > best[measure] ? sum : best), sums[0]);
}

/** A share in whole percent; a share above zero is at least 1. @param {number} part @param {number} whole */
export function percent(part, whole) {
  if (!(part > 0) || !(whole > 0)) return 0;
  return Math.min(100, Math.max(1, Math.round((part / whole) * 100)));
}
