//! Formats log records for stderr and the log file.

use std::fmt::Write as _;

use aethon_core::log::{LogFormat, LogRecord};
use serde_json::Value;

use super::journal::priority;

/// Formats a record as one line, including the line break.
pub(super) fn line(format: LogFormat, record: &LogRecord) -> String {
    let mut line = match format {
        LogFormat::Text => text(record),
        // A record consists of strings and JSON values, so this cannot fail; if it did, the bare message beats nothing.
        LogFormat::Json => serde_json::to_string(record).unwrap_or_else(|_| record.message.clone()),
    };
    line.push('\n');
    line
}

/// Formats a record as one line for the journal, which has the time and takes the level from the priority.
pub(super) fn journal_line(format: LogFormat, record: &LogRecord) -> String {
    let priority = priority(record.level);
    match format {
        LogFormat::Text => format!("{priority}{}\n", message(record)),
        LogFormat::Json => format!("{priority}{}", line(format, record)),
    }
}

fn text(record: &LogRecord) -> String {
    format!("{:.3} {:5} {}", record.ts, record.level.as_str().to_uppercase(), message(record))
}

/// Who says what, with the fields.
fn message(record: &LogRecord) -> String {
    let mut line = record.target.clone();
    // Control characters would let logged text forge lines or control the terminal.
    let _ = write!(
        line,
        ": {}",
        record.message.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
    );
    for (name, value) in &record.fields {
        let _ = match value {
            Value::String(value) if !value.contains([' ', '"', '\n']) => {
                write!(line, " {name}={}", value.escape_debug())
            }
            value => write!(line, " {name}={value}"),
        };
    }
    line
}

#[cfg(test)]
mod tests {
    use aethon_core::log::Level;
    use serde_json::json;

    use super::*;

    fn record(message: &str) -> LogRecord {
        let mut fields = serde_json::Map::new();
        fields.insert("port".into(), json!(18790));
        fields.insert("why".into(), json!("two words"));
        let ts = "2026-11-20T10:00:00.1234Z".parse().unwrap();
        LogRecord { ts, level: Level::Warn, target: "aethon".into(), message: message.into(), fields }
    }

    #[test]
    fn a_text_line_is_one_line_for_people() {
        assert_eq!(
            line(LogFormat::Text, &record("it's up")),
            "2026-11-20T10:00:00.123Z WARN  aethon: it's up port=18790 why=\"two words\"\n"
        );
    }

    #[test]
    fn line_for_the_journal_has_a_priority_and_no_time() {
        let record = record("it's up");
        assert_eq!(
            journal_line(LogFormat::Text, &record),
            "<4>aethon: it's up port=18790 why=\"two words\"\n"
        );
        let json = journal_line(LogFormat::Json, &record);
        assert_eq!(json, format!("<4>{}", line(LogFormat::Json, &record)));
    }

    #[test]
    fn logged_text_cannot_forge_a_line() {
        let line = line(LogFormat::Text, &record("a\nERROR forged\u{1b}[31m"));
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.contains('\u{1b}'));
    }

    #[test]
    fn a_json_line_is_one_object() {
        let value: Value = serde_json::from_str(&line(LogFormat::Json, &record("up"))).unwrap();
        assert_eq!(value["fields"]["port"], 18790);
        assert_eq!(value["level"], "warn");
    }
}
