// The answers and bodies of the REST interface, generated from its OpenAPI document; do not edit.
// To renew it: cargo test -p aethon-http -- --ignored write_the_types_of_the_pages

export interface ActiveAgents {
  active: AgentActivity[];
}

export interface AgentActivity {
  agent_id: string;
  kind: "turn" | "compaction" | "delegation" | "embedding" | "transcription" | "scheduled" | "test" | "background" | "interrupted";
  name: string;
  parent: string | null;
  role: string;
  session_id: string;
  since: string;
  started_at: string;
  state: "idle" | "thinking" | "tool" | "waiting_approval" | "failed";
  task: string;
  tool: string | null;
}

export interface AgentHistory {
  history: AgentRun[];
  next_cursor: string | null;
}

export interface AgentList {
  active: AgentActivity[];
  agents: AgentStanding[];
  history: AgentRun[];
}

export interface AgentRun {
  agent_id: string;
  cache_write_tokens?: number;
  cached_tokens: number;
  cost_usd: number;
  duration: number;
  ended_at: string;
  error: string | null;
  input_tokens: number;
  kind: "turn" | "compaction" | "delegation" | "embedding" | "transcription" | "scheduled" | "test" | "background" | "interrupted";
  model: string;
  name: string;
  outcome: "end" | "stopped" | "limit" | "budget" | "error";
  output_tokens: number;
  parent: string | null;
  role: string;
  session_id: string;
  started_at: string;
  task: string;
  tools: ToolCount[];
  web_searches?: number;
}

export interface AgentStanding {
  active: number;
  model: string;
  name: string;
  role: string;
  state: "idle" | "thinking" | "tool" | "waiting_approval" | "failed";
}

export interface Answer {
  response: string | null;
  status: string;
}

export interface Approval {
  created_at: string;
  expires_at: string;
  id: string;
  input: unknown;
  preview?: string;
  reason?: string;
  session_id: string;
  session_scope?: string;
  summary: string;
  tool: string;
  turn: string;
}

export interface Approvals {
  approvals: Approval[];
  granted: Grant[];
}

export interface Audit {
  audit: AuditEntry[];
  next_cursor: string | null;
}

export interface AuditEntry {
  action: "approval" | "refusal" | "grant" | "tools" | "sign_in" | "access" | "deletion" | "config" | "secret" | "pairing" | "backup" | "command" | "files";
  at: string;
  by: string;
  detail: string;
  outcome: string;
  session_id: string | null;
  subject: string;
  turn: string | null;
}

export interface BackgroundCommand {
  command: string;
  ended_at: string | null;
  exit_status: number | null;
  number: number;
  outcome: string;
  output: string;
  started_at: string;
  state: "running" | "exited" | "killed" | "stopped" | "expired" | "failed";
}

export interface Backup {
  created_at: string;
  encrypted: boolean;
  name: string;
  ok: boolean;
  size: number;
}

export interface BackupList {
  backups: Backup[];
  folder: string;
  last_error: string | null;
  last_good: Backup | null;
  next_at: string | null;
  running: boolean;
  schedule: string;
}

export interface BackupStarted {
  status: string;
}

export interface Bin {
  count: number;
  keep_days: number;
  next_cursor: string | null;
  sessions: BinnedSession[];
}

export interface BinEmptied {
  removed: number;
  status: string;
}

export interface BinnedSession {
  agent_name: string;
  archived: boolean;
  bin_id: string;
  channel: string;
  created_at: string;
  deleted_at: string;
  effort: "none" | "low" | "medium" | "high" | null;
  expires_at: string;
  folder: string | null;
  instructions: string | null;
  message_count: number;
  model: string | null;
  pinned: boolean;
  sender: string;
  session_id: string;
  title: string;
  unread: boolean;
  updated_at: string;
}

export interface Block {
  blocks?: OutputBlock[];
  call?: string;
  code?: string;
  data?: string;
  denied?: boolean;
  from?: string;
  html?: string[];
  id?: string;
  input?: unknown;
  is_error?: boolean;
  messages?: number;
  mime?: string;
  ms?: number;
  name?: string;
  output?: string;
  query?: string;
  source?: string;
  sources?: Source[];
  summary?: string;
  text?: string;
  to?: string;
  type: "text" | "image" | "file" | "reasoning" | "search" | "tool_call" | "tool_result" | "notice" | "context" | "folded";
  untrusted?: boolean;
}

export interface BrokenSop {
  faults: LineFault[];
  path: string;
}

export interface Budget {
  daily_usd: number;
  reserved_usd: number;
  spent_usd: number;
  state: "ok" | "warn" | "exhausted";
}

export interface ChangedProblem {
  code: string;
  current: unknown;
  detail: string;
  errors?: FieldFault[];
  status: number;
  title: string;
  type: string;
}

export interface Channel {
  account: string | null;
  detail: string;
  enabled: boolean;
  is_waiting?: boolean;
  last_inbound: string | null;
  last_outbound: string | null;
  name: string;
  pending: number;
  state: "running" | "connecting" | "degraded" | "off";
}

export interface ChannelCheck {
  detail: string;
  id: string;
  ok: boolean;
}

export interface ChannelSetUp {
  checks: ChannelCheck[];
  name: string;
  needs_restart: string[];
  warnings: string[];
}

export interface ChannelTested {
  checks: ChannelCheck[];
  name: string;
  ok: boolean;
  saved_by: "token" | "terminal";
}

export interface ChannelWish {
  allowed?: string[] | null;
  settings?: Record<string, unknown> | null;
}

export interface Channels {
  channels: Channel[];
}

export interface CommandList {
  commands: BackgroundCommand[];
  session_id: string;
}

export interface CommandStopped {
  command: BackgroundCommand;
  session_id: string;
  status: string;
  stopped: boolean;
}

export interface ConfigEdited {
  diff: string;
  loosened: string[];
  needs_restart: string[];
  overridden: string[];
  saved: boolean;
  taken_over: string[];
  warnings: string[];
}

export interface ConfigKey {
  default: unknown;
  description: string;
  key: string;
  needs_restart: boolean;
  place: string;
  secret: boolean;
  source: "default" | "file" | "environment" | "flag";
  value: unknown;
  words: string[];
}

export interface ConfigKeys {
  keys: ConfigKey[];
}

export interface ConfigReloaded {
  needs_restart: string[];
  taken_over: string[];
}

export interface Conversation {
  agent_name: string;
  archived: boolean;
  busy: boolean;
  channel: string;
  created_at: string;
  effort: "none" | "low" | "medium" | "high" | null;
  folder: string | null;
  has_more: boolean;
  has_newer: boolean;
  instructions: string | null;
  message_count: number;
  messages: Message[];
  model: string | null;
  pending: PendingTurn[];
  pinned: boolean;
  sender: string;
  seq: number;
  session_id: string;
  title: string;
  unread: boolean;
  updated_at: string;
  versions: TurnVersions[];
  waiting: number;
}

export interface Decided {
  decision: "approve" | "deny";
  id: string;
  scope: "once" | "session";
  status: string;
}

export interface Decision {
  decision: "approve" | "deny";
  input?: Record<string, unknown> | null;
  scope?: "once" | "session" | null;
}

export interface Delivery {
  attempts: number;
  channel: string;
  created_at: string;
  due_at: string | null;
  error: string | null;
  expires_at: string;
  id: string;
  recipient: string | null;
  session_id: string;
  state: "waiting" | "failed";
  text: string;
}

export interface Destination {
  channel: string;
  recipient: string | null;
}

export interface Done {
  status: string;
}

export interface DoneWithId {
  id: string;
  status: string;
}

export interface Feature {
  config_key: string;
  detail: string;
  id: string;
  state: "on" | "off" | "degraded" | "unavailable";
  title: string;
}

export interface Features {
  features: Feature[];
}

export interface FieldFault {
  field: string;
  message: string;
}

export interface FileChange {
  at: string;
  kind: "created" | "changed";
  path: string;
  state: "as_left" | "put_back" | "changed_since";
  tool: string;
  turn: string;
}

export interface FileChangeList {
  changes: FileChange[];
  commands: number;
  redoable: string[];
}

export interface FilePutBack {
  outcome: "restored" | "removed" | "partly" | "changed_since" | "already" | "not_kept" | "failed";
  path: string;
  why?: string;
}

export interface FileUndoRequest {
  turn: string;
}

export interface FilesPutBack {
  files: FilePutBack[];
}

export interface ForkRequest {
  message_id?: string | null;
  turn?: string | null;
}

export interface FoundMessage {
  created_at: string;
  message_id: string;
  role: "user" | "assistant" | "tool" | "system";
  session_id: string;
  snippet: SnippetPart[];
  title: string;
  turn: string | null;
}

export interface FoundMessages {
  hits: FoundMessage[];
  next_cursor: string | null;
}

export interface Grant {
  allows: string;
  id: string;
  session_id: string;
}

export interface Health {
  status: string;
}

export interface Heard {
  text: string;
}

export interface Instance {
  last_seen: string;
  name: string;
  started_at: string;
  this: boolean;
  version: string;
}

export interface InstanceList {
  instances: Instance[];
}

export interface Job {
  channel: string;
  cron: string | null;
  enabled: boolean;
  job_id: string;
  last_error: string | null;
  last_run: string | null;
  last_status: "running" | "ok" | "error" | "skipped" | "missed" | null;
  made_by?: string;
  missed: "skip" | "run_once";
  model: string | null;
  next_run: string | null;
  next_runs: string[];
  origin: "config" | "owner" | "assistant";
  prompt: string | null;
  recipient: string | null;
  retries: number;
  run_at: string | null;
  sop_name: string | null;
  timezone: string | null;
  untrusted: boolean;
  warning?: string;
}

export interface JobList {
  count: number;
  enabled: boolean;
  jobs: Job[];
  next_cursor: string | null;
}

export interface JobRun {
  attempt: number;
  due_at: string | null;
  ended_at: string | null;
  error: string | null;
  job_id: string;
  run_id: string;
  started_at: string;
  status: "running" | "ok" | "error" | "skipped" | "missed";
}

export interface JobRuns {
  runs: JobRun[];
}

export interface JobSwitch {
  enabled: boolean;
}

export interface LineFault {
  line: number;
  message: string;
}

export interface ListedRecording {
  code: string | null;
  ended_at: string | null;
  error: string | null;
  events_count: number;
  name: string;
  session_id: string | null;
  size: number;
  snapshots_count: number;
  started_at: string | null;
  valid: boolean;
}

export interface LogRecord {
  fields: Record<string, unknown>;
  level: "trace" | "debug" | "info" | "warn" | "error";
  message: string;
  target: string;
  time: string;
  ts: string;
}

export interface Logs {
  next_cursor: string | null;
  records: LogRecord[];
}

export interface LongPrice {
  above: number;
  cache_write: number | null;
  cached_input: number | null;
  input: number;
  output: number;
}

export interface MemoryCorrection {
  category?: string | null;
  content?: string | null;
}

export interface MemoryEntry {
  category: string;
  content: string;
  created_at: string;
  id: string;
  last_recalled_at: string | null;
  scope?: string;
  source: string;
  updated_at: string;
}

export interface MemoryHit {
  category: string;
  content: string;
  created_at: string;
  id: string;
  last_recalled_at: string | null;
  scope?: string;
  score: number;
  source: string;
  updated_at: string;
  why: string;
}

export interface MemoryList {
  count: number;
  enabled: boolean;
  entries: MemoryEntry[];
  next_cursor: string | null;
}

export interface MemoryQuestion {
  category?: string | null;
  query: string;
  scope?: string | null;
  top_k?: number;
}

export interface MemoryResults {
  results: MemoryHit[];
}

export interface MemoryShown {
  category: string;
  content: string;
  created_at: string;
  history: MemoryVersion[];
  id: string;
  last_recalled_at: string | null;
  scope?: string;
  source: string;
  updated_at: string;
}

export interface MemoryStats {
  categories: Record<string, number>;
  count: number;
  enabled: boolean;
  recalled: number;
  versions: number;
  with_vector: number;
}

export interface MemoryVersion {
  category: string;
  content: string;
  replaced_at: string;
  source: string;
}

export interface Message {
  content: Block[];
  created_at: string;
  id: string;
  model: string | null;
  role: "user" | "assistant" | "tool" | "system";
  stop_reason: "end" | "stopped" | "limit" | "budget" | "error" | null;
  turn: string | null;
  usage: Usage | null;
}

export interface ModelList {
  current: string;
  models: OfferedModel[];
}

export interface ModelSetUp {
  first_token_ms: number | null;
  model: string;
  provider: string;
  warnings: string[];
}

export interface ModelWish {
  host?: string | null;
  key?: string | null;
  model_id?: string | null;
  provider: string;
  region?: string | null;
}

export interface ModelsOffered {
  models: string[];
}

export interface Monitor {
  approvals: Approval[];
  conversations: MonitoredConversation[];
  metrics: TelemetryEvent[];
}

export interface MonitoredConversation {
  busy: boolean;
  channel: string;
  messages: Message[];
  session_id: string;
  title: string;
}

export interface NamedSummary {
  avg_duration: number;
  calls: number;
  denied: number;
  errors: number;
  name: string;
  p50_duration: number;
  p95_duration: number;
}

export interface NewJob {
  channel?: string | null;
  cron?: string | null;
  job_id?: string | null;
  missed?: "skip" | "run_once" | null;
  model?: string | null;
  prompt?: string | null;
  recipient?: string | null;
  retries?: number | null;
  run_at?: string | null;
  sop_name?: string | null;
  timezone?: string | null;
}

export interface NewMemory {
  category?: string | null;
  content: string;
  scope?: string | null;
}

export interface NewSession {
  archived?: boolean | null;
  effort?: "none" | "low" | "medium" | "high" | null;
  folder?: string | null;
  instructions?: string | null;
  model?: string | null;
  name?: string | null;
  pinned?: boolean | null;
  title?: string | null;
}

export interface NewTask {
  acceptance?: string[];
  depends_on?: number[];
  detail?: string;
  title?: string;
}

export interface NewWork {
  goal: string;
  session_id?: string | null;
  tasks?: NewTask[];
  when?: "now" | "idle" | null;
}

export interface OfferedModel {
  abilities: string[];
  context_window: number | null;
  id: string;
  model_id: string;
  name: string;
  prices: Price | null;
  provider: string;
  source: "named" | "fallback" | "service" | "catalog";
}

export interface Outbox {
  count: number;
  deliveries: Delivery[];
  next_cursor: string | null;
}

export interface OutputBlock {
  data?: string;
  mime?: string;
  name?: string;
  text?: string;
  type: "text" | "image" | "file";
}

export interface Pairing {
  channel: string;
  sender: string;
}

export interface PairingCode {
  code: string;
  expires_at: string;
}

export interface PairingGiven {
  code: string;
}

export interface PairingWanted {
  channel: string;
}

export interface Pairings {
  pairings: Pairing[];
}

export interface PendingTurn {
  state: "queued" | "running" | "stopped";
  text: string;
  turn: string;
}

export interface Price {
  cache_write?: number;
  cached_input: number | null;
  input: number;
  long?: LongPrice;
  output: number;
  search?: number;
}

export interface Problem {
  code: string;
  detail: string;
  errors?: FieldFault[];
  status: number;
  title: string;
  type: string;
}

export interface PromptContent {
  content: string;
}

export interface PromptList {
  count: number;
  prompts: SavedPrompt[];
}

export interface PushEndpoint {
  endpoint: string;
}

export interface PushKey {
  key: string;
}

export interface PushKeys {
  auth?: string | null;
  p256dh?: string | null;
}

export interface PushSubscribed {
  status: string;
}

export interface PushSubscription {
  endpoint: string;
  keys?: PushKeys | null;
}

export interface Ready {
  ready: boolean;
  status: string;
}

export interface RecordedEvent {
  data: unknown;
  layer: "sys" | "tool" | "agent";
  seq: number;
  trace_id: string;
  ts: string;
  type: string;
}

export interface RecordedEvents {
  events: RecordedEvent[];
  next_after: number | null;
}

export interface Recording {
  duration: number;
  events_count: number;
  has_resumable_state: boolean;
  metadata: RecordingManifest;
  name: string;
  session_id: string;
  size: number;
  snapshots_count: number;
}

export interface RecordingEntry {
  name: string;
  sha256: string;
  size: number;
}

export interface RecordingList {
  count: number;
  next_cursor: string | null;
  recordings: ListedRecording[];
  running: RunningRecording[];
}

export interface RecordingManifest {
  ended_at: string;
  events_count: number;
  format_version: number;
  session_id: string;
  snapshots_count: number;
  started_at: string;
  version: string;
}

export interface RecordingVerified {
  entries: RecordingEntry[];
  events_count: number;
  name: string;
  session_id: string;
  size: number;
  snapshots_count: number;
  valid: boolean;
}

export interface RunningRecording {
  name: string;
  session_id: string;
  size: number;
  started_at: string;
}

export interface SavedPrompt {
  content: string;
  name: string;
}

export interface Session {
  agent_name: string;
  archived: boolean;
  busy: boolean;
  channel: string;
  created_at: string;
  effort: "none" | "low" | "medium" | "high" | null;
  folder: string | null;
  instructions: string | null;
  message_count: number;
  model: string | null;
  pinned: boolean;
  sender: string;
  session_id: string;
  title: string;
  unread: boolean;
  updated_at: string;
  waiting: number;
}

export interface SessionDone {
  session_id: string;
  status: string;
}

export interface SessionForked {
  session_id: string;
}

export interface SessionList {
  count: number;
  next_cursor: string | null;
  sessions: Session[];
}

export interface SessionNamed {
  session_id: string;
}

export interface SessionPatch {
  archived?: boolean | null;
  effort?: "none" | "low" | "medium" | "high" | null;
  folder?: string | null;
  instructions?: string | null;
  model?: string | null;
  pinned?: boolean | null;
  title?: string | null;
}

export interface SessionStopped {
  session_id: string;
  status: string;
  stopped: number;
}

export interface SignIn {
  address: string;
  began_at: string;
  ends_at: string;
  id: string;
  is_current: boolean;
}

export interface SignInCode {
  expires_at: string;
  qr: string[];
  url: string;
}

export interface SignInCodeWanted {
  address: string;
}

export interface SignIns {
  sign_ins: SignIn[];
}

export interface Snapshot {
  message_count: number;
  n: number;
  ts: string | null;
  turn: string | null;
}

export interface SnapshotDifference {
  added: Message[];
  cwd: TextChange | null;
  from: number;
  model: TextChange | null;
  removed: Message[];
  system_prompt: TextChange | null;
  to: number;
  tools_added: string[];
  tools_removed: string[];
  unchanged: number;
}

export interface SnapshotState {
  cwd: string;
  has_more: boolean;
  message_count: number;
  messages: Message[];
  model: string;
  n: number;
  preview?: boolean;
  session_id?: string;
  system_prompt: string;
  tools: unknown[];
  ts: string | null;
  turn: string | null;
  would_make?: WouldMake;
}

export interface Snapshots {
  snapshots: Snapshot[];
}

export interface SnippetPart {
  hit: boolean;
  text: string;
}

export interface Sop {
  content?: string;
  description: string;
  faults?: LineFault[];
  html?: string[];
  name: string;
  parameters: SopParameter[];
  path: string | null;
  size: number;
  steps: string[];
  title: string;
  type: "builtin" | "custom";
}

export interface SopBegun {
  session_id: string;
  status: string;
  turn: string;
}

export interface SopChecked {
  html: string[];
  ok: boolean;
  problems: LineFault[];
  remarks: LineFault[];
}

export interface SopContent {
  content: string;
}

export interface SopList {
  broken: BrokenSop[];
  count: number;
  enabled: boolean;
  sops: Sop[];
}

export interface SopParameter {
  default: string | null;
  description: string;
  name: string;
  required: boolean;
}

export interface SopResumed {
  run_id: string;
  status: string;
  turn: string;
}

export interface SopRun {
  cost_usd: number;
  error: string | null;
  run_id: string;
  session_id: string;
  sop_name: string;
  started_at: string;
  state: "asking" | "running" | "waiting" | "done" | "failed" | "stopped";
  step: number;
  steps: number;
  steps_done: number;
  updated_at: string;
}

export interface SopRunRequest {
  arguments?: Record<string, unknown> | null;
  session?: string | null;
  text?: string | null;
}

export interface SopRuns {
  count: number;
  next_cursor: string | null;
  runs: SopRun[];
}

export interface SopVersion {
  content: string;
  replaced_at: string;
}

export interface SopVersions {
  count: number;
  versions: SopVersion[];
}

export interface Source {
  title: string;
  url: string;
}

export interface Status {
  channels: string[];
  context: string;
  demo: boolean;
  model: string;
  model_hint: string | null;
  model_ready: boolean;
  provider: string;
  reach: string[];
  status: string;
  token_required: boolean;
  transcription: boolean;
  uptime_seconds: number;
  version: string;
}

export interface SwitchRequest {
  turn: string;
}

export interface Telemetry {
  days: TelemetryDay[];
  dropped: number;
  enabled: boolean;
  metrics: TelemetryEvent[];
  next_cursor: string | null;
  summary: TelemetrySummary;
}

export interface TelemetryDay {
  day: string;
  error_rate: number;
  total_messages: number;
}

export interface TelemetryEvent {
  cached_tokens?: number;
  cost_usd?: number;
  detail: string;
  duration: number | null;
  id: string;
  input_tokens?: number;
  kind?: "turn" | "compaction" | "delegation" | "embedding" | "transcription" | "scheduled" | "test" | "background" | "interrupted";
  model?: string;
  name: string;
  output_tokens?: number;
  provider?: string;
  session_id: string | null;
  status: "ok" | "error" | "denied" | "stopped" | "skipped";
  timestamp: string;
  turn: string | null;
  type: "tool_call" | "model_call" | "turn" | "denial" | "approval" | "delivery" | "job" | "channel" | "error";
}

export interface TelemetrySummary {
  avg_model_duration: number;
  avg_tool_duration: number;
  avg_turn_duration: number;
  cost_usd: number;
  denied_tool_calls: number;
  error_count: number;
  error_rate: number;
  input_tokens: number;
  model_success_rate: number;
  models: NamedSummary[];
  output_tokens: number;
  p50_model_duration: number;
  p50_tool_duration: number;
  p50_turn_duration: number;
  p95_model_duration: number;
  p95_tool_duration: number;
  p95_turn_duration: number;
  today: TelemetrySums;
  tool_success_rate: number;
  tools: NamedSummary[];
  total_messages: number;
  total_model_calls: number;
  total_tool_calls: number;
  total_turns: number;
  turn_success_rate: number;
}

export interface TelemetrySums {
  avg_model_duration: number;
  avg_tool_duration: number;
  avg_turn_duration: number;
  cost_usd: number;
  denied_tool_calls: number;
  error_count: number;
  error_rate: number;
  input_tokens: number;
  model_success_rate: number;
  output_tokens: number;
  p50_model_duration: number;
  p50_tool_duration: number;
  p50_turn_duration: number;
  p95_model_duration: number;
  p95_tool_duration: number;
  p95_turn_duration: number;
  tool_success_rate: number;
  total_messages: number;
  total_model_calls: number;
  total_tool_calls: number;
  total_turns: number;
  turn_success_rate: number;
}

export interface TextChange {
  from: string;
  to: string;
}

export interface ToolCount {
  calls: number;
  name: string;
}

export interface Trigger {
  channel?: string | null;
  recipient?: string | null;
  session?: string | null;
  sop_name?: string | null;
  text: string;
}

export interface TurnVersions {
  turn: string;
  turns: string[];
}

export interface UnconfirmedProblem {
  change?: ConfigEdited;
  code: string;
  detail: string;
  errors?: FieldFault[];
  keys?: string[];
  status: number;
  title: string;
  type: string;
}

export interface Upload {
  id: string;
  mime: string;
  name: string;
  size: number;
}

export interface Usage {
  cache_write_tokens?: number;
  cached_tokens: number;
  cost_usd: number;
  input_tokens: number;
  output_tokens: number;
  web_searches?: number;
}

export interface UsageReport {
  budget: Budget;
  day: string;
  days: number;
  rows: UsageRow[];
  today: UsageTotals;
  total: UsageTotals;
}

export interface UsageRow {
  cache_write_tokens?: number;
  cached_tokens: number;
  cost_usd: number;
  day: string;
  failed: number;
  input_tokens: number;
  kind: "turn" | "compaction" | "delegation" | "embedding" | "transcription" | "scheduled" | "test" | "background" | "interrupted";
  model: string;
  output_tokens: number;
  provider: string;
  requests: number;
  saved_usd: number;
  web_searches?: number;
}

export interface UsageTotals {
  cache_write_tokens?: number;
  cached_tokens: number;
  cost_usd: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  requests: number;
  saved_usd: number;
  web_searches?: number;
}

export interface WebhookText {
  text: string;
}

export interface Work {
  cost_usd: number;
  created_at: string;
  goal: string;
  iterations: number;
  origin: "person" | "idle";
  person?: string;
  reason: string | null;
  receipt: string | null;
  seconds: number;
  session_id: string;
  state: "queued" | "running" | "paused" | "done" | "failed" | "stopped";
  tasks: WorkTask[];
  tell_to?: Destination;
  untrusted?: boolean;
  updated_at: string;
  wish: "stop" | "pause" | "resume" | null;
  work_id: string;
}

export type WorkCommanded = WorkStatus | Work;

export interface WorkList {
  ambient: boolean;
  enabled: boolean;
  next_cursor: string | null;
  paused: boolean;
  work: Work[];
}

export interface WorkStatus {
  ambient: boolean;
  enabled: boolean;
  paused: boolean;
}

export interface WorkTask {
  acceptance: string[];
  attempts: number;
  depends_on: number[];
  detail: string;
  error: string | null;
  evidence: string | null;
  number: number;
  state: "todo" | "running" | "done" | "failed";
  title: string;
}

export interface WouldMake {
  channel: string;
  title: string;
}
