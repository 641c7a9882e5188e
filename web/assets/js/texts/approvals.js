// The words of the approvals.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const approvals = translated("approvals", {
  waiting: "Waiting for you",
  waitingFailed: "The open questions could not be loaded",
  leftEdits: "A question was decided while you edited what it asks. Your edits were not sent.",
  none: "Nothing waits for your approval",
  noneHint: "When a tool on `approval.requires_approval` is about to run, the question appears here and in the chat.",
  granted: "Allowed for the rest of a conversation",
  takeBack: "Take back",
  takenBack: "It is asked about again.",
  takeBackFailed: "It was not taken back.",
  past: "Decisions and refusals",
  pastLabel: "Decisions and refusals, newest first",
  pastFailed: "The past decisions could not be loaded",
  pastEmptyTitle: "Nothing was decided yet",
  pastEmpty: "What you allow and deny, and what the rules refuse, is kept here.",
  noMatchTitle: "Nothing matches",
  noMatch: "Change the words of the search or the kind.",
  search: "Search decisions",
  kind: "Kind",
  kinds: /** @type {[string, string][]} */ ([
    ["", "All kinds"],
    ["approval", "Approvals"],
    ["refusal", "Refusals"],
    ["grant", "Grants"],
    ["tools", "Changes of tools"],
  ]),
  columns: { at: "When", subject: "What", outcome: "Outcome", by: "By", where: "Conversation" },
  detail: "What it was about",
  outcomes: /** @type {Record<string, string>} */ ({
    approved: "Allowed",
    approve: "Allowed",
    done: "Done",
    denied: "Denied",
    deny: "Denied",
    refused: "Refused",
    timeout: "No answer",
    stopped: "Stopped",
  }),
  count: (/** @type {number} */ shown, /** @type {number} */ all) =>
    shown === all ? plural(all, "row", "rows") : `${shown.toLocaleString("en")} of ${plural(all, "row", "rows")}`,
  more: "Older",
});
