// The words of the groups of the configuration, and the settings that most people look for.

import { translated } from "../shared/language.js";

export const groupWords = translated("config-groups", {
  common: "Common settings",
  commonHint: "What most people change. Everything else stands below, by what it is for.",
  restart: "Counts at the next start",
  /** The settings that come first, each with what a person calls it. @type {[string, string][]} */
  keys: [
    ["model.provider", "Model service"],
    ["model.model_id", "Model"],
    ["model.effort", "How long it thinks"],
    ["budget.daily_usd", "Spending a day, in USD"],
    ["approval.enabled", "Ask before tools run"],
    ["approval.requires_approval", "Which tools ask"],
    ["security.sandbox", "Where commands run"],
    ["security.allowed_paths", "Folders beyond the workspace"],
    ["memory.enabled", "Long-term memory"],
    ["scheduler.enabled", "Scheduled jobs"],
    ["tools.web_search.provider", "Web search"],
    ["backup.schedule", "Backups"],
    ["dashboard.auth_token", "Access token"],
    ["channels.webchat.port", "Port of these pages"],
    ["push.enabled", "Notifications on the phone"],
    ["logging.level", "How much is logged"],
  ],
  /** The groups, in order, with the first words of the sections that belong to them. @type {[string, string[]][]} */
  groups: [
    ["Models and spending", ["model", "budget", "transcription"]],
    ["Where you reach it", ["channels", "household", "push", "webhook"]],
    ["Protection", ["security", "approval", "dashboard", "verification"]],
    ["How it works for you", ["agent", "work", "scheduler", "sop", "memory", "session", "context"]],
    ["Tools", ["tools", "mcp", "lsp", "repo_map", "runtime_tools"]],
    ["Keeping and watching", ["storage", "backup", "session_recorder", "telemetry", "logging"]],
    ["The server", ["server"]],
  ],
  rest: "Everything else",
});
