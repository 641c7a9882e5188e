// The words of the config panel.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const configWords = translated("config", {
  search: "Search keys and what they do",
  changedOnly: "Only what you set",
  tree: "Configuration",
  failed: "The configuration could not be loaded",
  nothingTitle: "Nothing found",
  nothing: (/** @type {string} */ text) => `No key matches “${text}”.`,
  noneChanged: "Everything is as it is by default.",
  keys: (/** @type {number} */ n) => plural(n, "key", "keys"),
  set: (/** @type {number} */ n) => `${n} set`,
  changed: "Set",
  isDefault: "Default",
  secret: "Secret",
  secretSet: "A secret is set; it is never shown.",
  empty: "empty",
  unset: "not set",
  general: "General",
  value: "Value",
  fallback: "Default",
  origin: "Comes from",
  origins: /** @type {Record<string, string>} */ ({
    default: "The built-in default",
    file: "config.toml",
    environment: "An environment variable",
    flag: "A --set at the start",
  }),
  kind: "Takes",
  kinds: /** @type {Record<string, string>} */ ({
    string: "text",
    boolean: "true or false",
    integer: "a whole number",
    number: "a number",
    array: "a list",
    object: "a table",
  }),
  range: (/** @type {number | null} */ least, /** @type {number | null} */ most) =>
    least !== null && most !== null ? `${least} to ${most}` : least !== null ? `${least} or more` : `up to ${most}`,
  oneOf: (/** @type {string[]} */ words) => words.join(", "),
  edit: "Change",
  newValue: "New value",
  review: "Show what changes",
  back: "Back",
  toDefault: "Back to the default",
  changedTo: (/** @type {string} */ value) => `Changed elsewhere: it is ${value} now.`,
  notTrue: (/** @type {string} */ key, /** @type {string} */ value) =>
    `${key} was changed after you looked at what saving would do: it is ${value} now. Nothing is saved yet.`,
  saved: "Saved. It counts from now on.",
  savedRestart: "Saved. It counts when Aethon starts again.",
  atOnce: "It counts as soon as it is saved.",
  restart: "It counts when Aethon starts again.",
  overridden: "The environment or a flag sets this key as well, so the file does not count for it.",
  takesEffect: "A change counts",
  now: "At once",
  nextStart: "At the next start",
  yes: "true",
  no: "false",
  linesHint: "One a line.",
  jsonHint: "As JSON.",
  unsetHint: "Empty means not set.",
  howTo: "Change it in config.toml",
  howToCli: "Or in a terminal",
  howToSecret: "Keep secrets out of the file: store one, and refer to it.",
  afterRestart: "Most keys take effect when Aethon starts again.",
  missingTitle: "There is no such key",
  missing: "Its address is not right, or this version does not have it.",
  key: "Key",
  loosens:
    "This loosens protection, or says where keys are sent or which programs run. Saving it asks for the access token.",
  confirmTitle: "Type the access token again",
  confirmText: "These keys loosen protection, or say where keys are sent or which programs run:",
  tokenAgain: "Access token",
  confirmAction: "Confirm and save",
  terminalOnly:
    "This loosens protection, or says where keys are sent or which programs run. Without an access token anyone " +
    "on this machine could do it here, so it is changed in a terminal:",
  terminalCommand: "Command for the terminal",
});
