// The words of the memory panel.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const memoryWords = translated("memory", {
  search: "Search what is remembered",
  category: "Category",
  allCategories: (/** @type {number} */ n) => (n > 0 ? `All categories (${n.toLocaleString("en")})` : "All categories"),
  categoryCount: (/** @type {string} */ name, /** @type {number} */ n) => `${name} (${n.toLocaleString("en")})`,
  add: "Add a memory",
  list: "Memories",
  columns: {
    content: "What is remembered",
    category: "Category",
    source: "From",
    updated: "Changed",
    score: "Fits",
    why: "Found by",
  },
  failed: "The memory could not be loaded",
  emptyTitle: "Nothing is remembered yet",
  empty:
    "The assistant keeps what you tell it to remember, and finds it again when it matters. Add the first fact " +
    "yourself, or say “remember that …” in the chat.",
  offTitle: "Long-term memory is off",
  off: "Set `memory.enabled` to true and restart Aethon.",
  nothingTitle: "Nothing found",
  nothing: (/** @type {string} */ text) => `Nothing that is remembered fits “${text}”.`,
  noneInCategory: "Nothing is filed under this category any more.",
  stats: (/** @type {number} */ recalled, /** @type {number} */ vectors) =>
    `${plural(recalled, "was", "were")} used in answers${
      vectors > 0 ? `, ${vectors.toLocaleString("en")} can be found by meaning` : ""
    }`,
  results: (/** @type {number} */ n) => plural(n, "result", "results"),
  score: (/** @type {string} */ score) => `${score} %`,
  sources: /** @type {Record<string, string>} */ ({
    api: "Added by hand",
    tool: "The assistant",
    conversation: "A conversation",
    cli: "The terminal",
    learning: "A learning",
  }),
  scope: "Whose",
  scopes: /** @type {Record<string, string>} */ ({ owner: "The owner", shared: "Everybody" }),
  never: "Never",

  one: "Memory",
  id: "Id",
  thisOne: "This memory",
  asText: (/** @type {{content: string, category: string}} */ { content, category }) =>
    `${content}\n\nCategory: ${category}`,
  content: "What is remembered",
  contentHint: "One fact in a sentence works best. Passwords and keys are refused.",
  categoryHint: "A word of your own, such as family or work.",
  addTitle: "Add a memory",
  added: "Remembered.",
  known: "This is already remembered.",
  edit: "Edit",
  editTitle: "Edit this memory",
  saved: "Saved. The earlier text is kept as history.",
  remove: "Delete",
  removeTitle: "Delete this memory?",
  removeBody: "It will be gone for good, with its history. The assistant will no longer know it.",
  removed: "Forgotten.",
  created: "Remembered since",
  updated: "Last changed",
  recalled: "Last used in an answer",
  source: "From",
  history: "Earlier versions",
  replaced: (/** @type {string} */ category) => `filed under ${category}, replaced`,
  missingTitle: "There is no such memory",
  missing: "It was deleted, or the address is wrong.",
});
