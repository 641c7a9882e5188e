// The frames of the sockets, generated from the server's types; do not edit.
// To renew it: cargo test -p aethon-http -- --ignored write_the_types_of_the_pages

import type { AgentActivity, Approval, CommandList, ConfigReloaded, JobRun, Message, OutputBlock, SopRun, Usage } from "./api.js";

export type AgentNews =
  | { sop_run: SopRun }
  | AgentActivity;

export type ApprovalNews =
  | { state: "open" } & Approval
  | { state: "done"; decision: "approve" | "deny"; edited?: unknown; id: string; reason: "user" | "timeout" | "stopped" };

export type Attached =
  | { upload: string }
  | Attachment;

export type Attachment = { data: string; mime: string; name: string; own?: boolean; untrusted?: boolean };

export type CallNews = { at: string; cache_write_tokens?: number; cached_tokens: number; cost_usd: number; input_tokens: number; kind: "turn" | "compaction" | "delegation" | "embedding" | "transcription" | "scheduled" | "test" | "background" | "interrupted"; model: string; ok: boolean; output_tokens: number; provider: string; saved_usd: number; session_id: string | null; turn: string | null; web_searches?: number };

export type ClientFrame =
  | { type: "message"; attachments?: Attached[] | null; effort?: "none" | "low" | "medium" | "high" | null; id: string; model?: string | null; schema?: unknown; session?: string | null; text: string }
  | { type: "stop"; session?: string | null; turn?: string | null }
  | { type: "approval"; decision: "approve" | "deny"; id: string; input?: unknown; scope?: "once" | "session"; unattended?: boolean }
  | { type: "resume"; after: number; session: string }
  | { type: "watch" }
  | { type: "read"; session?: string | null }
  | { type: "visible"; visible: boolean }
  | { type: "retry"; attachments?: Attached[] | null; effort?: "none" | "low" | "medium" | "high" | null; id?: string | null; model?: string | null; session?: string | null; text?: string | null; turn: string }
  | { type: "edit"; attachments?: Attached[] | null; effort?: "none" | "low" | "medium" | "high" | null; id?: string | null; model?: string | null; session?: string | null; text?: string | null; turn: string };

export type DashboardFrame = { seq?: number } & (
  | { channel: "messages"; data: MessageNews }
  | { channel: "sessions"; data: SessionNews }
  | { channel: "agents"; data: AgentNews }
  | { channel: "telemetry"; data: TelemetryNews }
  | { channel: "logs"; data: LogNews }
  | { channel: "approvals"; data: ApprovalNews }
  | { channel: "scheduler"; data: JobNews }
  | { channel: "recordings"; data: RecordingNews }
  | { channel: "usage"; data: UsageNews }
  | { channel: "config"; data: ConfigReloaded }
  | { channel: "lagged"; data: { missed: number } }
);

export type DashboardRequest =
  | { channel: "subscribe"; topics: string[] }
  | { channel: "visible"; visible: boolean };

export type DaySpend = { reserved_usd: number; spent_usd: number };

export type JobNews = { change: "added" | "removed" | "changed" | "paused" | "resumed" | "run_started" | "run_ended"; job_id: string; run?: JobRun };

export type LogNews = { fields: Record<string, unknown>; level: "trace" | "debug" | "info" | "warn" | "error"; message: string; target: string; time: string; ts: string };

export type LooseFrame =
  | { type: "ready"; session: string; version: string }
  | { type: "resumed"; seq: number; session: string }
  | { type: "session" } & SessionFrame
  | { type: "session"; removed: boolean; session_id: string }
  | { type: "commands" } & CommandList
  | { type: "notice"; code: string; message: string }
  | { type: "error"; code: string; id?: string; message: string };

export type MessageNews = { message: Message; session_id: string };

export type RecordingNews = { change: "began" | "ended" | "deleted"; name: string; session_id: string | null };

export type SessionFrame = { archived: boolean; busy: boolean; effort: "none" | "low" | "medium" | "high" | null; folder: string | null; model: string | null; pinned: boolean; session_id: string; title: string; unread: boolean; updated_at: string; waiting: number };

export type SessionNews = { change: "turn_started" | "turn_ended" | "created" | "updated" | "reset" | "deleted"; end?: "end" | "stopped" | "limit" | "budget" | "error"; session_id: string; turn?: string };

export type TelemetryNews = { cached_tokens?: number; cost_usd?: number; detail: string; duration: number | null; input_tokens?: number; kind?: "turn" | "compaction" | "delegation" | "embedding" | "transcription" | "scheduled" | "test" | "background" | "interrupted"; model?: string; name: string; output_tokens?: number; provider?: string; session_id: string | null; status: "ok" | "error" | "denied" | "stopped" | "skipped"; timestamp: string; turn: string | null; type: "tool_call" | "model_call" | "turn" | "denial" | "approval" | "delivery" | "job" | "channel" | "error" };

export type TurnFrame = { seq: number; turn: string } & (
  | { type: "ack"; id: string; queued: number }
  | { type: "model"; model: string; reason: string }
  | { type: "delta"; text: string }
  | { type: "reasoning"; ms?: number; text: string }
  | { type: "image"; data: string; mime: string }
  | { type: "blocks"; from: number; html: string[] }
  | { type: "tool"; blocks?: OutputBlock[]; call: string; input?: unknown; ms?: number; name: string; output?: string; state: "running" | "ok" | "error" | "denied" }
  | { type: "approval"; expires_at: string; id: string; input: unknown; preview?: string; reason?: string; session_scope?: string; summary: string; tool: string }
  | { type: "approval_done"; decision: "approve" | "deny"; edited?: unknown; id: string; reason: "user" | "timeout" | "stopped" }
  | { type: "usage" } & Usage
  | { type: "folded"; from: string; messages: number; summary: string; to: string }
  | { type: "notice"; code: string; message: string }
  | { type: "error"; code: string; message: string }
  | { type: "done"; html: string; model: string; stop_reason: "end" | "stopped" | "limit" | "budget" | "error"; text: string }
  | { type: "switched" }
);

export type UsageNews = { call: CallNews; today: DaySpend };
