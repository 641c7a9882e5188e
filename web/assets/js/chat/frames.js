// Applies server frames to the turns they belong to. Pure: a frame in, a changed turn out.

import { emptyReply, toolPart } from "./turn.js";
import { now as serverNow } from "../shared/clock.js";

/** @import { Turn, Part, ApprovalPart, ToolPart } from "./types.js" */

/**
 * Applies a frame to its turn.
 * @param {Turn} turn
 * @param {any} frame
 */
export function applyFrame(turn, frame) {
  if (turn.base) {
    // The first frame after a reconnect: the server replays the turn, so what was shown until now is discarded.
    turn.reply = turn.base;
    turn.base = null;
  }
  if (turn.state !== "done") turn.state = "running";
  turn.version += 1;
  handlers[/** @type {keyof typeof handlers} */ (frame.type)]?.(turn, frame);
}

/** @type {Record<string, (turn: Turn, frame: any) => void>} */
const handlers = {
  model: (turn, { model, reason }) => {
    turn.model = model;
    add(turn, { kind: "model", model, reason });
  },
  delta: (turn, { text }) => {
    turn.reply.source += text;
  },
  reasoning: (turn, { text, ms }) => {
    const last = turn.reply.extras.findLast(({ part }) => part.kind === "reasoning");
    const thought = last?.part.kind === "reasoning" && last.part.isLive ? last.part : null;
    if (thought) Object.assign(thought, { text: thought.text + text, ms, isLive: ms === undefined });
    else if (text) add(turn, { kind: "reasoning", text, ms, isLive: ms === undefined });
  },
  image: (turn, { mime, data }) => add(turn, { kind: "image", mime, data }),
  blocks: ({ reply }, { from, html }) => {
    reply.blocks.splice(Math.min(from, reply.blocks.length), Infinity, ...html);
  },
  tool: (turn, { call, name, state, input, output, blocks, ms }) => {
    let tool = toolPart(turn.reply, call);
    if (!tool) {
      tool = { kind: "tool", call, name, input, output, state };
      add(turn, tool);
    }
    // A tool that was never approved counts as denied, even if the stop that ended the question reports an error.
    const wasDenied = state === "error" && (tool.waits || tool.state === "denied");
    tool.state = wasDenied ? "denied" : state;
    if (input !== undefined) tool.input = input;
    if (output !== undefined) tool.output = output;
    if (blocks?.length) tool.blocks = blocks;
    if (ms !== undefined) tool.ms = ms;
  },
  approval: (turn, { id, tool, input, summary, preview, reason: why, session_scope, expires_at }) => {
    if (approvalPart(turn, id)) return;
    add(turn, { kind: "approval", id, tool, input, summary, preview, why, session_scope, expires_at, decision: null, reason: null, sending: false });
    markWaiting(turn, tool, true);
  },
  approval_done: (turn, { id, decision, reason, edited }) => {
    const approval = approvalPart(turn, id);
    if (!approval) return;
    Object.assign(approval, { decision, reason, edited: edited != null, sending: false });
    const tool = markWaiting(turn, approval.tool, false);
    if (tool && decision === "deny") tool.state = "denied";
  },
  usage: (turn, { input_tokens, output_tokens, cached_tokens, cost_usd }) => {
    turn.usage = { input_tokens, output_tokens, cached_tokens, cost_usd };
  },
  folded: (turn, { messages, summary }) => add(turn, { kind: "folded", messages, summary }),
  notice: (turn, { code, message }) => add(turn, { kind: "notice", code, text: message }),
  error: (turn, { code, message }) => {
    turn.failure = { code, message };
    finish(turn, "error");
  },
  done: (turn, { text, html, stop_reason, model }) => {
    if (typeof text === "string") turn.reply.source = text;
    if (typeof html === "string" && turn.reply.blocks.join("") !== html && html.trim()) settleHtml(turn, html);
    if (model) turn.model = model;
    dropEndingText(turn, turn.failure?.message ?? (stop_reason === "stopped" ? endings.find((ending) => text?.endsWith(ending)) ?? "" : ""));
    const isWithdrawn = stop_reason === "stopped" && text === withdrawn;
    finish(turn, isWithdrawn ? "withdrawn" : (stop_reason ?? "end"));
  },
};

/** The server's text for a message stopped before its turn began, and at the end of any stopped reply. */
const withdrawn = "Stopped before it was answered.";
const endings = ["Stopped.", withdrawn];

/** @param {Turn} turn @param {Part} part */
function add(turn, part) {
  turn.reply.extras.push({ at: turn.reply.blocks.length, part });
}

/** @param {Turn} turn @param {string} id @returns {ApprovalPart | undefined} */
export function approvalPart(turn, id) {
  const found = turn.reply.extras.find(({ part }) => part.kind === "approval" && part.id === id);
  return /** @type {ApprovalPart | undefined} */ (found?.part);
}

/** Replaces the streamed blocks by the final HTML, which differs, as one block. @param {Turn} turn @param {string} html */
function settleHtml(turn, html) {
  const before = turn.reply.extras.map(({ part }) => ({ at: 0, part }));
  turn.reply = { ...emptyReply(), source: turn.reply.source, blocks: [html], extras: before };
}

/** Sets whether the tool's own line shows that it waits for a decision. @param {Turn} turn @param {string} name @param {boolean} waits @returns {ToolPart | undefined} */
function markWaiting(turn, name, waits) {
  const parts = turn.reply.extras.map(({ part }) => part);
  const tool = parts.findLast((part) => part.kind === "tool" && part.name === name && part.state === "running" && Boolean(part.waits) !== waits);
  if (tool?.kind !== "tool") return undefined;
  tool.waits = waits;
  return tool;
}

/**
 * Removes the sentence that ends a reply cut short. It is meant for text-only clients; the page shows it in its own place.
 * @param {Turn} turn @param {string} sentence
 */
function dropEndingText({ reply }, sentence) {
  if (!sentence) return;
  const words = (/** @type {string} */ text) => text.replace(/<[^>]*>|&#?\w+;|[^\p{L}\p{N}]/gu, "");
  const said = words(sentence);
  if (said && words(reply.blocks.at(-1) ?? "") === said) reply.blocks.pop();
  const source = reply.source.trimEnd();
  if (source.endsWith(sentence)) reply.source = source.slice(0, -sentence.length).trimEnd();
}

/** @param {Turn} turn @param {string} stopReason */
function finish(turn, stopReason) {
  turn.state = "done";
  turn.stopReason = stopReason;
  turn.at = new Date(serverNow()).toISOString();
  for (const { part } of turn.reply.extras) {
    if (part.kind === "approval" && !part.decision) Object.assign(part, { decision: "deny", reason: "stopped", sending: false });
    if (part.kind === "reasoning") part.isLive = false;
    if (part.kind === "tool" && part.state === "running") part.state = part.waits ? "denied" : "error";
  }
}
