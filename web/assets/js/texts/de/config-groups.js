// The words of the groups of the configuration, in German. The keys and the sections are those of the file.

/** @type {typeof import("../config-groups.js").groupWords} */
export const groupWords = {
  common: "Häufige Einstellungen",
  commonHint: "Was die meisten ändern. Alles andere steht darunter, nach seinem Zweck geordnet.",
  restart: "Gilt ab dem nächsten Start",
  keys: [
    ["model.provider", "Dienst des Modells"],
    ["model.model_id", "Modell"],
    ["model.effort", "Wie gründlich es nachdenkt"],
    ["budget.daily_usd", "Ausgaben am Tag, in USD"],
    ["approval.enabled", "Vor Werkzeugen fragen"],
    ["approval.requires_approval", "Welche Werkzeuge fragen"],
    ["security.sandbox", "Wo Befehle laufen"],
    ["security.allowed_paths", "Ordner außerhalb des Arbeitsbereichs"],
    ["memory.enabled", "Langzeitgedächtnis"],
    ["scheduler.enabled", "Geplante Aufträge"],
    ["tools.web_search.provider", "Suche im Web"],
    ["backup.schedule", "Sicherungen"],
    ["dashboard.auth_token", "Zugangstoken"],
    ["channels.webchat.port", "Port dieser Seiten"],
    ["push.enabled", "Mitteilungen auf dem Telefon"],
    ["logging.level", "Wie viel protokolliert wird"],
  ],
  groups: [
    ["Modelle und Ausgaben", ["model", "budget", "transcription"]],
    ["Wo Sie ihn erreichen", ["channels", "household", "push", "webhook"]],
    ["Schutz", ["security", "approval", "dashboard", "verification"]],
    ["Wie er für Sie arbeitet", ["agent", "work", "scheduler", "sop", "memory", "session", "context"]],
    ["Werkzeuge", ["tools", "mcp", "lsp", "repo_map", "runtime_tools"]],
    ["Aufbewahren und beobachten", ["storage", "backup", "session_recorder", "telemetry", "logging"]],
    ["Der Server", ["server"]],
  ],
  rest: "Alles andere",
};
