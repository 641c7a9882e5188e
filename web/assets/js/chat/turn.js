// One exchange, empty or parsed from the stored transcript. Pure: no page, no network.

/** @import { ApprovalPart, Turn, Reply, StoredMessage, ToolPart, Usage } from "./types.js" */
/** @import { Block } from "../wire/api.js" */

let created = 0;

/** @param {string} key @param {Partial<Turn>} [known] @returns {Turn} */
export function newTurn(key, known = {}) {
  created += 1;
  return {
    key,
    id: null,
    said: null,
    reply: emptyReply(),
    state: "local",
    stopReason: "",
    failure: null,
    model: "",
    usage: null,
    at: null,
    version: 0,
    base: null,
    sequence: created,
    request: "message",
    lastFrameAt: 0,
    isWaiting: false,
    versions: [],
    replaces: [],
    ...known,
  };
}

/** @returns {Reply} */
export const emptyReply = () => ({ blocks: [], extras: [], source: "" });

/** The approval that a turn waits for. @param {Turn} turn @returns {ApprovalPart | undefined} */
export function openApproval({ reply }) {
  for (const { part } of reply.extras) if (part.kind === "approval" && !part.decision) return part;
  return undefined;
}

/** Whether a command to the program, such as `/model`, was answered without a model: nothing of it can be asked anew. @param {Turn} turn */
export const isCommand = ({ said, model, stopReason, state }) =>
  state === "done" && stopReason === "end" && !model && Boolean(said?.text.startsWith("/"));

/** The number of turns created so far; a turn with a greater `sequence` is newer. */
export const turnSequence = () => created;

/**
 * Groups stored messages into exchanges: by turn, or without a turn, from each user message on.
 * @param {StoredMessage[]} messages
 * @returns {Turn[]}
 */
export function turnsFromStored(messages) {
  /** @type {Turn[]} */
  const turns = [];
  for (const message of messages) {
    let turn = turns.at(-1);
    const belongs = turn && (message.turn ? turn.id === message.turn : !turn.id && message.role !== "user");
    if (!turn || !belongs) {
      turn = newTurn(message.turn ? `t:${message.turn}` : `m:${message.id}`, {
        id: message.turn ?? null,
        state: "done",
      });
      turns.push(turn);
    }
    readMessage(turn, message);
  }
  for (const turn of turns) readEnding(turn);
  return turns;
}

/**
 * Orders messages. Their ids grow in the order of the conversation; their times need not, because a message that waited is older
 * than the answers before it.
 * @param {StoredMessage[]} messages
 */
export function oldestFirst(messages) {
  return Number(messages[0]?.id) > Number(messages.at(-1)?.id) ? [...messages].reverse() : messages;
}

const failures = new Set(["error", "limit", "budget"]);

/** Moves the reason why a stored turn ended early from its last notice to the page's own place for it. @param {Turn} turn */
function readEnding(turn) {
  const last = turn.reply.extras.at(-1)?.part;
  if (last?.kind !== "notice") return;
  if (failures.has(turn.stopReason)) turn.failure = { code: last.code, message: last.text };
  else if (turn.stopReason === "stopped" && (last.code === "shutdown" || last.code === "withdrawn"))
    turn.stopReason = last.code;
  else if (turn.stopReason !== "stopped" || last.code !== "stopped") return;
  turn.reply.extras.pop();
}

/** @param {Turn} turn @param {StoredMessage} message */
function readMessage(turn, message) {
  if (message.role === "user") return readSaid(turn, message);
  for (const block of message.content ?? []) readBlock(turn.reply, block);
  if (message.model) turn.model = message.model;
  if (message.usage) turn.usage = turn.usage ? sum(turn.usage, message.usage) : message.usage;
  if (message.stop_reason) turn.stopReason = message.stop_reason;
  turn.at = message.created_at ?? turn.at;
}

/** @param {Turn} turn @param {StoredMessage} message */
function readSaid(turn, message) {
  const said = turn.said ?? { text: "", files: [], at: message.created_at ?? null, state: "sent", error: "" };
  for (const block of message.content ?? []) {
    const { type, name = "", mime = "", text = "" } = block;
    if (type === "text") said.text += (said.text ? "\n\n" : "") + text;
    if (type === "image") said.files.push({ name, mime, data: block.data });
    if (type === "file") said.files.push({ name, mime, text: block.text });
  }
  turn.said = said;
}

/** @param {Reply} reply @param {Block} block */
function readBlock(reply, block) {
  const at = reply.blocks.length;
  const { type, text = "" } = block;
  if (type === "text") {
    reply.source += (reply.source ? "\n\n" : "") + text;
    reply.blocks.push(...(Array.isArray(block.html) ? block.html : []));
  } else if (type === "image") {
    reply.extras.push({ at, part: { kind: "image", mime: block.mime ?? "", data: block.data ?? "" } });
  } else if (type === "reasoning" && text) {
    reply.extras.push({ at, part: { kind: "reasoning", text, ms: block.ms } });
  } else if (type === "search") {
    const output = (block.sources ?? []).map(({ title, url }) => `${title}\n${url}`).join("\n\n");
    const call = `search ${at} ${reply.extras.length}`;
    reply.extras.push({
      at,
      part: { kind: "tool", call, name: "web_search", input: { query: block.query }, output, state: "ok" },
    });
  } else if (type === "tool_call") {
    const { id: call = "", name = "", input } = block;
    reply.extras.push({ at, part: { kind: "tool", call, name, input, output: undefined, state: "running" } });
  } else if (type === "tool_result") {
    settleTool(reply, block);
  } else if (type === "notice") {
    reply.extras.push({ at, part: { kind: "notice", code: block.code ?? "", text } });
  } else if (type === "context") {
    reply.extras.push({ at, part: { kind: "context", source: block.source ?? "", text } });
  } else if (type === "folded") {
    reply.extras.push({ at, part: { kind: "folded", messages: block.messages ?? 0, summary: block.summary ?? "" } });
  }
}

/** @param {Reply} reply @param {Block} result */
function settleTool(reply, result) {
  const tool = toolPart(reply, result.call ?? "");
  if (!tool) return;
  tool.output = result.output;
  // A user edited the arguments before it ran.
  if (result.input) tool.input = result.input;
  if (result.blocks?.length) tool.blocks = result.blocks;
  if (result.ms !== undefined) tool.ms = result.ms;
  tool.state = result.denied ? "denied" : result.is_error ? "error" : "ok";
}

/** @param {Reply} reply @param {string} call @returns {ToolPart | undefined} */
export function toolPart(reply, call) {
  const found = reply.extras.find(({ part }) => part.kind === "tool" && part.call === call);
  return /** @type {ToolPart | undefined} */ (found?.part);
}

/** Whether a reply is still empty. Context added by a hook does not count. @param {Reply} reply */
export const isBlank = (reply) =>
  reply.blocks.length === 0 && reply.extras.every(({ part }) => part.kind === "context") && !reply.source;

/** @param {Partial<Usage>} first @param {Partial<Usage>} second @returns {Usage} */
function sum(first, second) {
  const one = /** @type {Record<string, number | undefined>} */ (first);
  const other = /** @type {Record<string, number | undefined>} */ (second);
  /** @type {Record<string, number>} */
  const total = {};
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    if (typeof (one[key] ?? other[key]) === "number") total[key] = (one[key] ?? 0) + (other[key] ?? 0);
  }
  return total;
}
