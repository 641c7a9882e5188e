// The words of the SOPs panel.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const sopWords = translated("sops", {
  list: "SOPs",
  tabs: { list: "SOPs", runs: "Runs" },
  search: "Search SOPs",
  write: "Write an SOP",
  failed: "The SOPs could not be loaded",
  emptyTitle: "No SOPs",
  empty: "An SOP is a text with steps that the assistant follows. Write the first one.",
  nothingTitle: "Nothing found",
  nothing: (/** @type {string} */ text) => `No SOP matches “${text}”.`,
  off: "SOPs are off.",
  columns: { name: "SOP", about: "What it does", steps: "Steps", parameters: "Takes", type: "Kind" },
  types: /** @type {Record<string, string>} */ ({ builtin: "Built in", custom: "Yours" }),
  steps: (/** @type {number} */ n) => plural(n, "step", "steps"),
  parameters: (/** @type {number} */ n) => (n === 0 ? "Nothing" : plural(n, "value", "values")),
  broken: (/** @type {number} */ n) =>
    plural(
      n,
      "file has the name of an SOP but cannot be read as one",
      "files have names of SOPs but cannot be read as such",
    ),
  invalid: "The file is not a valid SOP, so it does not count",
  fault: (/** @type {number} */ line, /** @type {string} */ message) => `Line ${line}: ${message}`,

  run: "Run",
  runTitle: (/** @type {string} */ title) => `Run ${title}`,
  runLead: "It runs in a conversation of its own, which you can watch and answer in the chat.",
  runInput: "Anything else it should know",
  started: "Started.",
  openChat: "Open the chat",
  required: "needed",
  optional: "optional",
  by: (/** @type {string} */ value) => `Otherwise ${value}.`,
  edit: "Edit",
  copy: "Edit a copy",
  copyHint:
    "Built-in SOPs stay as they are. Saved under the same name, yours is used instead; under another name, both are there.",
  remove: "Delete",
  removeTitle: "Delete this SOP?",
  removeBody: (/** @type {string} */ name) =>
    `The file of “${name}” will be gone for good. If a built-in SOP has the same name, it counts again.`,
  removed: "SOP deleted.",
  callIt: "In chat",
  file: "File",
  kind: "Kind",
  size: "Size",
  bytes: (/** @type {number} */ n) => (n < 1024 ? `${n} bytes` : `${(n / 1024).toFixed(1)} KB`),
  takes: "Takes",
  tabsOne: { read: "Read", source: "Source", runs: "Runs", versions: "Earlier versions" },
  versionsFailed: "The earlier versions could not be loaded",
  noVersionsTitle: "No earlier versions",
  noVersions: "When this SOP is changed, what it said before is kept here: the last 20 versions.",
  versionUntil: "Valid until",
  versionView: "View",
  versionDiff: "Difference to now",
  versionRestore: "Restore",
  versionTitle: (/** @type {string} */ when) => `Until ${when}`,
  versionLines: (/** @type {number} */ n) => plural(n, "line", "lines"),
  restoreTitle: "Restore this version?",
  restoreText: "It becomes the text of this SOP. What it says now is kept as an earlier version.",
  restored: "Restored.",
  missingTitle: "There is no such SOP",
  missing: "It was deleted, or the address is wrong.",
  toList: "All SOPs",
  oneFailed: "The SOP could not be loaded",

  runsFailed: "The runs could not be loaded",
  noRunsTitle: "Nothing has run yet",
  noRuns: "Runs of SOPs are listed here, with the step they have reached.",
  runColumns: {
    sop: "SOP",
    state: "State",
    steps: "Steps done",
    session: "In",
    started: "Began",
    cost: "Cost",
    actions: "Actions",
  },
  states: /** @type {Record<string, {label: string, tone: "good" | "warn" | "bad" | "accent" | "", icon: string}>} */ ({
    asking: { label: "Asks for values", tone: "warn", icon: "info" },
    running: { label: "Running", tone: "accent", icon: "clock" },
    waiting: { label: "Waits for you", tone: "warn", icon: "info" },
    done: { label: "Done", tone: "good", icon: "check" },
    failed: { label: "Failed", tone: "bad", icon: "alert" },
    stopped: { label: "Stopped", tone: "", icon: "stop" },
  }),
  stepsDone: (/** @type {number} */ done, /** @type {number} */ all) => `${done} of ${all}`,
  resume: "Go on",
  resumed: "The run is resumed.",

  newTitle: "Write an SOP",
  editTitle: (/** @type {string} */ name) => `Edit ${name}`,
  name: "Name",
  nameHint: "Lower-case letters, digits and hyphens. In the chat it is run as /name.",
  content: "Text",
  contentHint: "A title, an Overview, Parameters if it needs any, and Steps.",
  lintOk: "No faults found.",
  lintFaults: (/** @type {number} */ n) => plural(n, "fault", "faults"),
  lintRemarks: (/** @type {number} */ n) => plural(n, "remark", "remarks"),
  saved: "Saved.",
  changes: "What you changed",
  preview: "Show changes",
  hidePreview: "Hide changes",
  template: `# My procedure

## Overview

Says in a sentence or two what this does and when to use it.

## Parameters

- **topic** (required): What it is about.

## Steps

### 1. First step

What is to be done.

**Constraints:**
- You MUST say what you found.
`,
});
