// What became of something in the audit log, in words and with a tone: what went well is never red.

import { visibleText } from "../../../shared/visible.js";
import { approvals as words } from "../../../texts/approvals.js";

/** What was refused, failed, or ran out. */
const bad = /^(den|refus|wrong|too_many|fail|timeout|stopped|terminal_only|confirm_required)/;
const good =
  /^(approve|allow|grant|done|ok|made|stored|restored|changed|confirmed|taken_over|reloaded|paired|added|removed|in$|out$|code_made|signed)/;

/**
 * @param {string} action @param {string} outcome
 * @returns {{label: string, tone: "good" | "bad" | "", icon: string}}
 */
export function outcomeOf(action, outcome) {
  const label = words.ofActions[`${action} ${outcome}`] ?? words.outcomes[outcome] ?? visibleText(outcome);
  if (bad.test(outcome)) return { label, tone: "bad", icon: "close" };
  // What a command in the background did is said in a sentence, which is neither.
  return good.test(outcome) ? { label, tone: "good", icon: "check" } : { label, tone: "", icon: "" };
}

/** What kind of thing happened, such as "Deletion". @param {string} action */
export const actionName = (action) => words.actions[action] ?? visibleText(action);
