//! `audit`: allowed and refused actions, removals and changes, from the daemon if one runs, else from the database.

use std::process::ExitCode;

use aethon::core::visible::readable;
use anyhow::Result;
use serde_json::Value;

use super::source::Source;
use super::{print, print_json};
use crate::args::Common;

pub(crate) async fn run(common: &Common, limit: u16, json: bool) -> Result<ExitCode> {
    let audit = Source::run(common, async |source| match source {
        Source::Daemon(daemon) => daemon.get(format!("/api/audit?limit={limit}")).await,
        Source::Here(aethon) => Ok(aethon.audit_document(limit.into()).await?),
    });
    let audit = audit.await?;
    if json {
        print_json(&audit)?
    } else {
        print(&table(&audit))?
    }
    Ok(ExitCode::SUCCESS)
}

fn table(audit: &Value) -> String {
    let rows = audit["audit"].as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.is_empty() {
        return "the audit log is empty\n".to_owned();
    }
    rows.iter().map(line).collect()
}

fn line(row: &Value) -> String {
    let text = |key: &str| readable(row[key].as_str().unwrap_or_default());
    let when: String = text("at").replace('T', " ").chars().take(19).collect();
    let (action, outcome, subject) = (text("action"), text("outcome"), text("subject"));
    let place = row["session_id"].as_str().map(|id| format!("  in {}", readable(id))).unwrap_or_default();
    let detail: String =
        text("detail").split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect();
    let detail = if detail.is_empty() { detail } else { format!("\n    {detail}") };
    format!("{when}  {action:<8}  {outcome:<8}  {subject}  by {}{place}{detail}\n", text("by"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_lines_that_cannot_drive_a_terminal() {
        let row = json!({"at": "2026-11-20T10:00:01.000Z", "action": "deletion", "subject": "sessions/webchat:a\u{1b}[2J",
                         "outcome": "done", "by": "127.0.0.1", "detail": "", "session_id": null, "turn": null});
        let lines = table(&json!({ "audit": [row] }));
        assert!(lines.starts_with("2026-11-20 10:00:01  deletion  done"), "{lines}");
        assert!(!lines.contains('\u{1b}') && lines.ends_with("by 127.0.0.1\n"), "{lines}");
        assert_eq!(table(&json!({ "audit": [] })), "the audit log is empty\n");
    }
}
