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

/**
 * The day with the highest value.
 * @template {string} Measure @template {Record<Measure, number>} T
 * @param {T[]} sums @param {Measure} measure
 */
export function most(sums, measure) {
  return sums.reduce((best, sum) => (sum[measure] > best[measure] ? sum : best), sums[0]);
}

/** A share in whole percent; a share above zero is at least 1. @param {number} part @param {number} whole */
export function percent(part, whole) {
  if (!(part > 0) || !(whole > 0)) return 0;
  return Math.min(100, Math.max(1, Math.round((part / whole) * 100)));
}

const dayMs = 86400000;

/** The day that comes so many days before another. @param {string} day @param {number} days */
const daysBefore = (day, days) => new Date(Date.parse(`${day}T00:00:00Z`) - days * dayMs).toISOString().slice(0, 10);

/**
 * The rows of the last days, `today` included, and those of as many days before them.
 * @template {{day: string}} [Row={day: string}]
 * @param {Row[]} rows @param {string} today @param {number} days
 */
export function spansOf(rows, today, days) {
  const first = daysBefore(today, days - 1);
  const earlier = daysBefore(today, 2 * days - 1);
  return {
    rows: rows.filter(({ day }) => day >= first),
    before: rows.filter(({ day }) => day < first && day >= earlier),
  };
}

/**
 * By how many percent a sum differs from the one before; null where nothing can be compared.
 * @param {number} sum @param {number} before
 */
export const changed = (sum, before) => (before > 0 ? Math.round((sum / before - 1) * 100) : null);

/** How many days the pace of a forecast is taken from. */
const paceDays = 7;

/**
 * What this month has cost so far, and what it will have cost in the end at the pace of the last full days; null before there is one.
 * @param {UsageRow[]} rows of at least this month @param {string} today
 */
export function monthOf(rows, today) {
  const month = today.slice(0, 7);
  const cost = (/** @type {(row: UsageRow) => boolean} */ of) =>
    rows.reduce((sum, row) => (of(row) ? sum + row.cost_usd : sum), 0);
  const spent = cost(({ day }) => day.slice(0, 7) === month);
  const [year, number] = month.split("-").map(Number);
  const length = new Date(Date.UTC(year, number, 0)).getUTCDate();
  const first = rows.reduce((least, { day }) => (day < least ? day : least), today);
  const full = Math.min(paceDays, Math.round((Date.parse(today) - Date.parse(first)) / dayMs));
  if (!(full > 0)) return { spent, forecast: null };
  const from = daysBefore(today, full);
  const pace = cost(({ day }) => day >= from && day < today) / full;
  const left = length - Number(today.slice(8, 10));
  const restOfToday = Math.max(0, pace - cost(({ day }) => day === today));
  return { spent, forecast: spent + restOfToday + pace * left };
}
