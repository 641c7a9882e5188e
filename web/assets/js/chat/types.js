// The types shared by the chat's modules, as JSDoc. No code.

/** @import { Message, OutputBlock, Usage as Measured } from "../wire/api.js" */
/** @import { ClientFrame, LooseFrame, TurnFrame } from "../wire/frames.js" */

/**
 * What the server sends: frames of turns, and loose ones. The news of a conversation are `session` frames.
 * @typedef {TurnFrame | LooseFrame} ServerFrame
 * @typedef {Extract<LooseFrame, {type: "session"}>} SessionNews
 * @typedef {NonNullable<Extract<ClientFrame, {type: "message"}>["effort"]>} Effort
 *
 * A file that goes with a message. `upload` is its id if it was uploaded before. `data` is base64; stored text files carry `text`
 * instead.
 * @typedef {{name: string, mime: string, data?: string, text?: string, upload?: string, size?: number}} Attachment
 *
 * @typedef {{text: string, files: Attachment[], at: string | null, state: "sent" | "sending" | "failed", error: string,
 *   choice?: {model?: string, effort?: Effort}}} Said
 *
 * @typedef {{kind: "tool", call: string, name: string, input: unknown, output: unknown, state: "running" | "ok" | "error" |
 *   "denied", ms?: number, waits?: boolean,
 *   blocks?: OutputBlock[]}} ToolPart
 *
 * @typedef {{kind: "approval", id: string, tool: string, input: unknown, summary: string, preview?: string,
 *   why?: string, session_scope?: string, fault?: string, expires_at: string | null,
 *   decision: "approve" | "deny" | null, reason: string | null, edited?: boolean, sending: boolean}} ApprovalPart
 * @typedef {{kind: "reasoning", text: string, ms?: number, isLive?: boolean}} ReasoningPart
 * @typedef {{kind: "image", mime: string, data: string}} ImagePart
 * @typedef {{kind: "notice", code: string, text: string}} NoticePart
 * @typedef {{kind: "folded", messages: number, summary: string}} FoldedPart
 * @typedef {{kind: "context", source: string, text: string}} ContextPart
 * @typedef {{kind: "model", model: string, reason: string}} ModelPart
 * @typedef {ToolPart | ApprovalPart | ReasoningPart | ImagePart | NoticePart | FoldedPart | ContextPart | ModelPart} Part
 *
 * The page's model of a reply: rendered blocks, and parts in between, each with the index of the block that follows it.
 * @typedef {{blocks: string[], extras: {at: number, part: Part}[], source: string}} Reply
 *
 * @typedef {Partial<Measured>} Usage
 *
 * One exchange. `version` rises with every change, so that an unchanged view can be skipped.
 * @typedef {{key: string, id: string | null, said: Said | null, reply: Reply, state: "local" | "queued" | "running" | "done",
 *   stopReason: string, failure: {code: string, message: string} | null, model: string, usage: Usage | null,
 *   at: string | null, version: number, base: Reply | null, sequence: number, request: "message" | "retry" | "edit",
 *   lastFrameAt: number, isWaiting: boolean, versions: string[], replaces: string[]}} Turn
 *
 * @typedef {Pick<Message, "id" | "role" | "content"> & Partial<Message>} StoredMessage
 *
 * @typedef {{title?: string, seq?: number, has_more?: boolean, busy?: boolean, messages?: StoredMessage[], message_count?: number,
 *   model?: string | null, effort?: Effort | null,
 *   pending?: {turn: string, text: string, state: string}[], versions?: {turn: string, turns: string[]}[]}} SessionDetail
 */

export {};
