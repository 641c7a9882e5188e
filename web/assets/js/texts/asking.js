// The words of an approval card.

import { translated } from "../shared/language.js";

export const asking = translated("asking", {
  /** What a tool is about to do, within `question`. Keep in step with the list in docs/tools.md. */
  purposes: /** @type {Record<string, string>} */ ({
    shell: "run this command",
    file_read: "read this file",
    file_list: "list this folder",
    file_search: "search files for this",
    file_write: "write this file",
    file_edit: "change this file",
    web_fetch: "fetch this page",
    web_search: "search the web for this",
    jsonrpc: "send this request",
    github: "ask GitHub for this",
    open: "open this",
    send_message: "send this message",
    schedule_task: "schedule this",
    remove_scheduled_job: "remove this job",
    clipboard_write: "put this on the clipboard",
    notify: "show this notification",
    mail_draft: "draft this mail",
    update_context: "change this page",
  }),
  more: "More",
  lead: "Nothing runs until you decide.",
  all: "Every argument, as the tool gets it",
  keys: "On this card, A allows once and D denies; ↓ and ↑ go to the next question and the one before.",
  question: (/** @type {string} */ tool, /** @type {string} */ purpose) =>
    purpose ? `Allow ${tool} to ${purpose}?` : `Allow ${tool}?`,
  waiting: (/** @type {number} */ n) => `${n.toLocaleString("en")} waiting`,
  denyAll: "Deny all",
  denyAllTitle: (/** @type {number} */ n) => `Deny all ${n.toLocaleString("en")} questions?`,
  denyAllText: "Nothing of it runs. The conversations go on without it.",
  deniedAll: (/** @type {number} */ n) => (n === 1 ? "1 question denied." : `${n.toLocaleString("en")} questions denied.`),
});
