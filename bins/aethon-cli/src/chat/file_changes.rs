//! `/undo files` and `/redo`: the files that tools have changed since a message.

use aethon::core::visible::{exact, readable};
use anyhow::Result;
use serde_json::Value;

use super::backend::{Backend, FilesWish, LookUp};
use super::output::put;
use super::screen::style;

/// How many files are named in a line.
const MAX_NAMED: usize = 5;

/// What happens to a message whose changes of files are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meanwhile {
    /// It is edited, so there is time to put files back.
    Edited,
    /// It is answered again at once.
    AnsweredAgain,
}

/// Says which files tools have changed since a message, and how they are put back; nothing if there are none. What happens to
/// the message happens in any case, so what cannot be looked up is left out.
pub(super) async fn tell_changes(backend: &mut dyn Backend, turn: &str, meanwhile: Meanwhile) {
    if let Ok(list) = backend.look_up(LookUp::FileChanges(turn.to_owned())).await {
        put(&hint(&list, meanwhile));
    }
}

/// Puts the files back that were changed since a message, and says what happened to each.
pub(super) async fn put_back(backend: &mut dyn Backend, turn: &str) -> Result<()> {
    let list = backend.look_up(LookUp::FileChanges(turn.to_owned())).await?;
    let done = backend.put_files(FilesWish::PutBack(turn.to_owned())).await?;
    let mut text = outcomes(&done, "no tool has changed a file since your last message\n");
    if text_of(&done).any(|outcome| matches!(outcome, "restored" | "removed" | "partly")) {
        text.push_str(&style().dim("/redo takes that back\n"));
    }
    put(&text);
    put(&commands(&list));
    Ok(())
}

/// Undoes the last `/undo files`.
pub(super) async fn redo(backend: &mut dyn Backend) -> Result<()> {
    let done = backend.put_files(FilesWish::Redo).await?;
    put(&outcomes(&done, "no files were put back that are still as they were left then\n"));
    Ok(())
}

fn text_of(done: &Value) -> impl Iterator<Item = &str> {
    done["files"].as_array().into_iter().flatten().filter_map(|file| file["outcome"].as_str())
}

fn hint(list: &Value, meanwhile: Meanwhile) -> String {
    let mut files: Vec<&str> = Vec::new();
    for change in list["changes"].as_array().into_iter().flatten() {
        let path = change["path"].as_str().unwrap_or_default();
        if change["state"] != "put_back" && !files.contains(&path) {
            files.push(path);
        }
    }
    if files.is_empty() {
        return commands(list);
    }
    let named: Vec<String> = files.iter().take(MAX_NAMED).map(|path| exact(path).to_string()).collect();
    let more = match files.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let remedy = match meanwhile {
        Meanwhile::Edited => "/undo files puts them back",
        Meanwhile::AnsweredAgain => "that stays; /undo files before /retry puts them back",
    };
    let words = format!("tools have changed {}{more} since; {remedy}\n", named.join(", "));
    style().dim(&words) + &commands(list)
}

fn commands(list: &Value) -> String {
    let words = match list["commands"].as_u64().unwrap_or(0) {
        0 => return String::new(),
        1 => "a command ran since; what it changed is not recorded, and stays\n".to_owned(),
        count => format!("{count} commands ran since; what they changed is not recorded, and stays\n"),
    };
    style().dim(&words)
}

fn outcomes(done: &Value, none: &str) -> String {
    let files = done["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    if files.is_empty() {
        return style().dim(none);
    }
    files.iter().map(outcome).collect()
}

fn outcome(file: &Value) -> String {
    let path = exact(file["path"].as_str().unwrap_or_default()).to_string();
    let why = readable(file["why"].as_str().unwrap_or_default()).to_string();
    match file["outcome"].as_str().unwrap_or_default() {
        "restored" => format!("{path}: put back\n"),
        "removed" => format!("{path}: removed, because it did not exist before\n"),
        "partly" => format!("{path}: put back in part: {why}\n"),
        "changed_since" => format!("{path}: left alone, because it was changed since\n"),
        "already" => format!("{path}: is as it was already\n"),
        "not_kept" => format!("{path}: left alone, because what it was before is not kept\n"),
        _ => format!("{path}: not put back: {why}\n"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changed_files_are_named_once_and_commands_are_mentioned() {
        let change = |path: &str, state: &str| json!({"path": path, "state": state});
        let list = json!({
            "changes": [change("a.md", "as_left"), change("a.md", "as_left"), change("b.md", "put_back")],
            "commands": 2,
        });
        let text = hint(&list, Meanwhile::Edited);
        assert!(text.contains("tools have changed a.md since; /undo files puts them back"), "{text}");
        assert!(text.contains("2 commands ran since"), "{text}");
        let text = hint(&list, Meanwhile::AnsweredAgain);
        assert!(text.contains("a.md since; that stays; /undo files before /retry puts them back"), "{text}");
        assert_eq!(hint(&json!({"changes": [], "commands": 0}), Meanwhile::Edited), "");
        assert_eq!(hint(&Value::Null, Meanwhile::Edited), "");
    }

    #[test]
    fn each_file_is_told() {
        let file = |outcome: &str| json!({"path": "a.md", "outcome": outcome, "why": "no room"});
        let check = |word: &str, expected: &str| assert_eq!(outcome(&file(word)), expected);
        check("restored", "a.md: put back\n");
        check("changed_since", "a.md: left alone, because it was changed since\n");
        check("partly", "a.md: put back in part: no room\n");
        check("failed", "a.md: not put back: no room\n");
        assert!(outcomes(&json!({"files": []}), "none").contains("none"));
    }
}
