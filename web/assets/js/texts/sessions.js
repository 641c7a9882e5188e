// The words of the sessions panel and of transcripts.

import { translated } from "../shared/language.js";

const plural = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const sessionWords = translated("sessions", {
  search: "Search titles and messages",
  channel: "Channel",
  allChannels: "All channels",
  list: "Sessions",
  columns: {
    title: "Conversation",
    channel: "Channel",
    messages: "Messages",
    state: "State",
    updated: "Last used",
    created: "Began",
    actions: "Actions",
  },
  untitled: "Without a title",
  busy: "Answering",
  failed: "The sessions could not be loaded",
  emptyTitle: "No conversations yet",
  empty:
    "Everything that people and programs say to the assistant is kept here, by conversation. Say something in the chat, and it appears.",
  openChat: "Open the chat",
  nothingTitle: "Nothing found",
  nothing: (/** @type {string} */ text) => `No conversation matches “${text}”.`,
  noneInChannel: "No conversation came by this channel.",

  continue: "Continue in chat",
  rename: "Rename",
  renameTitle: "Rename conversation",
  renameLabel: "Title",
  renamed: "Renamed.",
  exportMarkdown: "Download as Markdown",
  exportJson: "Download as JSON",
  stop: "Stop the reply",
  stopped: "Stopped.",
  reset: "Empty",
  resetTitle: "Empty this conversation?",
  resetBody: (/** @type {string} */ title) =>
    `All messages of “${title}” will be gone for good. The conversation itself stays.`,
  wasReset: "The conversation is empty now.",
  remove: "Delete",
  removeTitle: "Delete this conversation?",
  actionsFor: (/** @type {string} */ title) => `Actions for ${title}`,
  more: "More",

  missingTitle: "There is no such session",
  missing: "It was deleted, or the address is wrong.",
  toList: "All sessions",
  transcriptFailed: "The conversation could not be loaded",
  noMessages: "No messages",
  noMessagesHint: "This conversation is empty.",
  older: "Show older messages",
  facts: (/** @type {string} */ messages, /** @type {string} */ channel) => `${messages} · ${channel}`,
  messages: (/** @type {number} */ n) => plural(n, "message", "messages"),
  tokens: (/** @type {string} */ input, /** @type {string} */ output) => `${input} tokens in, ${output} out`,
  began: "Began",
  from: "From",
  agent: "Agent",
  pending: "Waits for its answer",

  roles: /** @type {Record<string, string>} */ ({
    user: "Person",
    assistant: "Aethon",
    system: "Program",
    tool: "Tool",
  }),
  untrusted: "From outside",
  untrustedHint: "This text came from a stranger. The model is told to treat it as data.",
  call: "Input",
  result: "Output",
  noOutput: "No output",
  ok: "Done",
  error: "Failed",
  denied: "Denied",
  unanswered: "No answer",
  reasoning: "Reasoning",
  context: (/** @type {string} */ source) => `Context from ${source}`,
  folded: (/** @type {number} */ n) =>
    `${plural(n, "older message was", "older messages were")} summarised for the model`,
  file: (/** @type {string} */ name) => `File ${name}`,
  picture: "Picture",
  changedInput: "A person changed the arguments before it ran.",
});
