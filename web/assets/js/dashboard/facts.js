// The service's facts in the top line and the rail: its model, today's spending, and the number of pending approvals.

import { fill, make } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { statusPath } from "../shared/status-path.js";
import { money } from "../shared/time.js";
import { texts } from "../texts.js";
import { shell } from "../texts/shell.js";
import { approvalsPath } from "./approvals-path.js";

/** @import { Frame } from "./frame.js" */
/** @import { Store } from "./store.js" */
/** @import { Path } from "../shared/api.js" */
/** @import { Budget, Status, UsageReport } from "../wire/api.js" */

/** @type {Path<UsageReport>} */
export const budgetPath = "/api/usage?days=1";

/** @param {Frame} frame @param {Store} store */
export function showFacts(frame, store) {
  const status = store.get(statusPath)?.value;
  const budget = store.get(budgetPath)?.value?.budget;
  const chips = [status && modelChip(status), budget && budgetChip(budget)].filter(Boolean);
  const before = frame.facts.textContent;
  const next = make("div", {}, ...chips);
  if (before !== next.textContent) fill(frame.facts, ...next.childNodes);
  const count = store.get(approvalsPath)?.value?.approvals?.length ?? 0;
  const waits = count === 0 ? "" : String(count);
  if (frame.waiting.textContent !== waits)
    fill(frame.waiting, waits, waits && make("span", { class: "visually-hidden" }, ` ${shell.waiting}`));
  frame.waiting.hidden = count === 0;
  frame.leave.hidden = !status?.token_required;
}

/** @param {Status} status */
function modelChip(status) {
  const isReady = status.model_ready !== false;
  const name = isReady ? status.model || texts.dashboard.unknown : texts.dashboard.notReady;
  return make(
    "a",
    { class: "top-fact", href: "#/features", data: isReady ? {} : { tone: "warn" }, title: `${shell.model}: ${name}` },
    icon(isReady ? "spark" : "key"),
    make("span", { class: "top-fact-words" }, name),
  );
}

/** @param {Budget} budget */
function budgetChip(budget) {
  const isLimited = budget.daily_usd > 0;
  const words = isLimited
    ? texts.usage.ofCeiling(money(budget.spent_usd), money(budget.daily_usd))
    : shell.spent(money(budget.spent_usd));
  const tone = isLimited && budget.state !== "ok" ? { tone: budget.state === "exhausted" ? "bad" : "warn" } : {};
  const hint = isLimited
    ? `${shell.budget}: ${words}. ${texts.usage.states[/** @type {"ok"} */ (budget.state)] ?? ""}`
    : `${shell.budget}: ${words}. ${texts.usage.noCeiling}`;
  return make(
    "a",
    { class: "top-fact", href: "#/usage", data: tone, title: hint },
    icon(tone.tone ? "alert" : "coins"),
    make("span", { class: "top-fact-words" }, words),
  );
}
