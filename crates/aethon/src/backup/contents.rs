//! The parts of a home that belong to a backup: one table, for writing and for judging foreign files.

use aethon_archive::{Entry, Kind};
use aethon_config::credentials;
use serde::Serialize;

/// The database.
pub(super) const DATABASE: &str = "aethon.db";

/// The rows of a database on a server, in place of the database.
pub(super) const ROWS: &str = "storage.jsonl";

/// The configuration.
pub(super) const CONFIG: &str = "config.toml";

/// The owner's additions to the model catalogue.
pub(super) const MODELS: &str = "models.json";

/// The folders that are copied whole. Tools made at run time belong to the owner as much as the workspace does.
pub(super) const FOLDERS: [&str; 4] = ["workspace/", "recordings/", "tools/", "history/"];

/// The folder of secrets.
pub(super) const CREDENTIALS: &str = "credentials/";

/// What no backup holds, for people.
pub(super) const NEVER: &str = "browser sign-ins, logs, tool output that was kept for a while, and what files were before tools changed them";

/// Returns why no backup has an entry like this, or `None`.
pub(super) fn fault(entry: &Entry) -> Option<String> {
    let name = entry.name.as_str();
    let is_file = entry.kind == Kind::File;
    let below = |folder: &str| format!("{name}/") == folder || name.starts_with(folder);
    let is_secret =
        name.strip_prefix(CREDENTIALS).is_some_and(|secret| is_file && credentials::is_name(secret));
    let belongs = match name {
        DATABASE | ROWS | CONFIG | MODELS | super::manifest::NAME => is_file,
        _ if FOLDERS.iter().any(|folder| below(folder)) => {
            !(is_file && FOLDERS.contains(&format!("{name}/").as_str()))
        }
        _ => is_secret || (!is_file && format!("{name}/") == CREDENTIALS),
    };
    (!belongs).then(|| format!("it has {name:?}, which no backup has"))
}

/// The amounts in a backup, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Bytes of the database, or of its rows if it was on a server; `None` without one.
    pub database: Option<u64>,
    /// Whether there is a configuration.
    pub config: bool,
    /// Whether there is a `models.json`.
    pub models: bool,
    /// Files of the workspace.
    pub workspace: u64,
    /// Recordings.
    pub recordings: u64,
    /// Files of tools made at run time.
    pub tools: u64,
    /// Stored secrets.
    pub credentials: u64,
    /// Bytes of everything, unpacked.
    pub bytes: u64,
}

impl Summary {
    /// Counts entries.
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut summary = Self::default();
        for entry in entries.iter().filter(|entry| entry.kind == Kind::File) {
            summary.add(&entry.name, entry.size);
        }
        summary
    }

    fn add(&mut self, name: &str, size: u64) {
        self.bytes = self.bytes.saturating_add(size);
        match name {
            DATABASE | ROWS => self.database = Some(size),
            CONFIG => self.config = true,
            MODELS => self.models = true,
            _ if name.starts_with("workspace/") || name.starts_with("history/") => self.workspace += 1,
            _ if name.starts_with("recordings/") => self.recordings += 1,
            _ if name.starts_with("tools/") => self.tools += 1,
            _ if name.starts_with(CREDENTIALS) => self.credentials += 1,
            _ => {}
        }
    }

    /// Describes the restored parts, one line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(size) = self.database {
            lines.push(format!("conversations, memories, jobs and usage ({} KiB)", size.div_ceil(1024)));
        }
        if self.config {
            lines.push("the configuration".to_owned());
        }
        if self.models {
            lines.push("models.json".to_owned());
        }
        let counted = [
            (self.workspace, "of the workspace"),
            (self.recordings, "of recordings"),
            (self.tools, "of tools made at run time"),
            (self.credentials, "of stored secrets"),
        ];
        let files = |(count, what): (u64, &str)| {
            (count > 0).then(|| format!("{count} {} {what}", if count == 1 { "file" } else { "files" }))
        };
        lines.extend(counted.into_iter().filter_map(files));
        lines
    }

    /// Describes what does not come back, one line each.
    pub fn missing(&self) -> Vec<String> {
        let secrets = "stored secrets (the backup was made without --with-secrets)";
        let database = "conversations, memories, jobs and usage (there was no database)";
        let rows = [(self.credentials == 0, secrets), (self.database.is_none(), database), (true, NEVER)];
        rows.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, line)| line.to_owned()).collect()
    }
}

#[cfg(test)]
#[test]
fn foreign_entries_do_not_belong_to_a_backup() {
    let entry = |name: &str| Entry {
        name: name.trim_end_matches('/').to_owned(),
        kind: if name.ends_with('/') { Kind::Folder } else { Kind::File },
        size: 0,
        is_executable: false,
        modified: None,
    };
    let own = [
        "aethon.db",
        "storage.jsonl",
        "config.toml",
        "models.json",
        "manifest.json",
        "workspace/",
        "workspace/a/b.md",
        "recordings/x.zip",
        "tools/x/run.sh",
        "history/sops/x/000001764225642000.md",
        "credentials/",
        "credentials/KEY",
    ];
    for name in own {
        assert_eq!(fault(&entry(name)), None, "{name}");
    }
    let foreign = [
        "aethon.db/",
        "aethon.db-wal",
        "run/server.lock",
        "logs/x",
        "credentials/a/b",
        "credentials/..x/",
        "workspace",
        "workspaces/x",
        ".bashrc",
        "run/sign-in.key",
        "credentials",
    ];
    for name in foreign {
        assert!(fault(&entry(name)).is_some(), "{name}");
    }
}
