// The words of the usage.

import { translated } from "../shared/language.js";

export const usage = translated("usage", {
  failed: "The usage could not be loaded",
  days: "Span",
  spans: /** @type {[string, string][]} */ ([
    ["7", "Last 7 days"],
    ["30", "Last 30 days"],
    ["90", "Last 90 days"],
    ["366", "Last 366 days"],
  ]),
  last: (/** @type {number} */ n) => `Last ${n} days`,
  today: (/** @type {string} */ day) => `Today, ${day}`,
  spent: "Spent",
  calls: "Calls",
  sent: "Tokens sent",
  received: "Tokens received",
  cached: "From the cache",
  failedCalls: (/** @type {number} */ n) => (n === 0 ? "None failed" : `${n.toLocaleString("en")} failed`),
  saved: (/** @type {string} */ amount) => `${amount} saved`,
  perDay: (/** @type {string} */ amount) => `${amount} a day on average`,
  chart: "By day",
  measure: "What the chart shows",
  measures: /** @type {[string, string][]} */ ([
    ["cost", "Cost"],
    ["tokens", "Tokens"],
    ["calls", "Calls"],
  ]),
  legend: { cost: ["Cost"], tokens: ["Sent", "Sent, from the cache", "Received"], calls: ["Worked", "Failed"] },
  chartLabel: (
    /** @type {string} */ what,
    /** @type {string} */ span,
    /** @type {string} */ total,
    /** @type {string} */ day,
    /** @type {string} */ most,
  ) =>
    `${what} by day, ${span.toLowerCase()}: ${total} in all, most on ${day} with ${most}. The table below has every number.`,
  onDay: (/** @type {string} */ day, /** @type {string} */ amount) => `${day}: ${amount}`,
  byModel: "By model",
  byKind: "By kind of work",
  rows: "Every day, model and kind of work",
  columns: {
    day: "Day",
    model: "Model",
    kind: "For",
    calls: "Calls",
    failed: "Failed",
    sent: "Sent",
    cached: "Cached",
    received: "Received",
    cost: "Cost",
    share: "Share",
  },
  fromCache: (/** @type {number} */ percent) => `${percent} % from the cache`,
  total: "Total",
  totals: {
    calls: (/** @type {string} */ n) => `${n} calls`,
    sent: (/** @type {string} */ n) => `${n} sent`,
    received: (/** @type {string} */ n) => `${n} received`,
  },
  only: (/** @type {string} */ what) => `Only ${what}`,
  everything: "Show everything",
  emptyTitle: "No calls in this span",
  empty:
    "Every call to a model is counted here, with its tokens and its cost. Say something in the chat and look again.",
});
