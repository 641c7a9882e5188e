// The words of the documentation of the API.

import { translated } from "../shared/language.js";

export const docsWords = translated("docs", {
  title: "Aethon API",
  lead: "Every route of this server. Requests from this page carry your sign-in.",
  document: "OpenAPI document",
  dashboard: "Dashboard",
  search: "Search operations",
  nothing: "No operation matches.",
  failed: "The document could not be loaded",
  groups: "Groups of operations",
  curl: "In a terminal",
  copyCurl: "Copy the command",
  tokenHint: "AETHON_TOKEN is the access token of this server (dashboard.auth_token). Without one, leave that line out.",
  parameters: "Parameters",
  body: "Body",
  answers: "Answers",
  columns: { status: "Status", meaning: "Meaning", type: "Type" },
  open: "Open to everybody",
  tryIt: "Try it",
  otherTag: "Other",
  /** What a value may be; the names of types are those of JSON. */
  types: {
    anything: "anything",
    or: " or ",
    listOf: (/** @type {string} */ type) => `list of ${type}`,
    time: "time",
    range: (/** @type {string} */ type, /** @type {number} */ from, /** @type {number} */ to) => `${type} from ${from} to ${to}`,
  },
  sending: "Sending",
  download: "This answer is a file or a page; open it in the browser.",
  answer: (/** @type {number} */ status, /** @type {number} */ ms) => `Answer ${status} after ${ms} ms`,
  unreachable: "The server does not answer. Check that it runs.",
  notJson: "The body is not JSON. Correct it and try again.",
  required: "required",
  changes: (/** @type {string} */ what) => `Send ${what}? This changes something on the server.`,
});
