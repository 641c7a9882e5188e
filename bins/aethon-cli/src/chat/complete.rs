//! Tab: completes commands, and the values that they take.
//!
//! The line editor asks on its own thread and waits. Lists of the assistant (conversations, SOPs, models) are therefore requested
//! from the chat, which reads them while it waits for the line, so they are never out of date.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use aethon::core::visible::readable;
use reedline::{Completer, CompletionResult, Span, Suggestion};
use tokio::sync::mpsc::UnboundedSender;

use super::backend::Listing;
use super::command::{COMMANDS, Takes};
use crate::environment::expanded;

/// How long a list may take; Tab then completes nothing.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of values that are offered.
const MAX_OFFERED: usize = 100;

/// A request of the line editor for a list.
pub(super) struct ListRequest {
    /// The list to fetch.
    pub(super) what: Listing,
    /// Takes the names and titles.
    pub(super) answer: SyncSender<Vec<(String, String)>>,
}

/// Completes the line.
pub(super) struct ChatCompleter {
    requests: UnboundedSender<ListRequest>,
}

/// A value that may be completed to.
type Candidate = (String, String);

impl ChatCompleter {
    /// Sends its requests here.
    pub(super) fn new(requests: UnboundedSender<ListRequest>) -> Self {
        Self { requests }
    }

    fn list(&self, what: Listing) -> Vec<Candidate> {
        let (answer, receiver) = sync_channel(1);
        // Without a chat that answers there is nothing to offer.
        let _ = self.requests.send(ListRequest { what, answer });
        receiver.recv_timeout(LOOKUP_TIMEOUT).unwrap_or_default()
    }

    /// Returns the values for a command.
    fn values(&self, takes: Takes) -> Vec<Candidate> {
        match takes {
            Takes::Nothing | Takes::Text => Vec::new(),
            Takes::Words(words) => words.iter().map(|word| ((*word).to_owned(), String::new())).collect(),
            Takes::Session => self
                .list(Listing::Sessions)
                .into_iter()
                .filter_map(|(id, title)| Some((id.strip_prefix("webchat:")?.to_owned(), title)))
                .collect(),
            Takes::Model => self.list(Listing::Models),
            Takes::Running => {
                let running = self.list(Listing::Commands).into_iter();
                running.map(|(number, command)| (format!("stop {number}"), command)).collect()
            }
        }
    }

    fn candidates(&self, line: &str) -> (usize, Vec<Candidate>) {
        if let Some(at) = file_begin(line) {
            return (at, files(&line[at..]));
        }
        let Some((word, rest)) = line.split_once(' ') else {
            return (0, if line.starts_with('/') { self.commands() } else { Vec::new() });
        };
        let takes = COMMANDS.iter().find(|command| command.name == word).map(|command| command.takes);
        let start = line.len() - rest.trim_start().len();
        (start, takes.map(|takes| self.values(takes)).unwrap_or_default())
    }

    fn commands(&self) -> Vec<Candidate> {
        let own = COMMANDS.iter().map(|command| (command.name.to_owned(), command.about.to_owned()));
        let sops = self.list(Listing::Sops).into_iter().map(|(name, title)| (format!("/{name}"), title));
        own.chain(sops).collect()
    }
}

impl Completer for ChatCompleter {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let line = line.get(..pos).unwrap_or(line);
        let (start, candidates) = self.candidates(line);
        let typed = &line[start..];
        let fits = candidates.into_iter().filter(|(value, _)| value.starts_with(typed));
        let suggestions: Vec<Suggestion> = fits
            .take(MAX_OFFERED)
            .map(|(value, about)| Suggestion {
                append_whitespace: !value.ends_with('/'),
                display_override: None,
                description: Some(readable(&about)).filter(|about| !about.trim().is_empty()),
                span: Span::new(start, line.len()),
                value,
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}

/// Returns where the path of an `@file` begins that ends the line.
fn file_begin(line: &str) -> Option<usize> {
    let space = line.char_indices().rev().find(|(_, c)| c.is_whitespace());
    let word = space.map_or(0, |(at, c)| at + c.len_utf8());
    line[word..].starts_with('@').then_some(word + 1)
}

/// Returns the files and folders whose path begins like this. Hidden ones only if the dot is typed.
fn files(typed: &str) -> Vec<Candidate> {
    let (folder, begun) = typed.rsplit_once('/').map_or(("", typed), |(folder, begun)| (folder, begun));
    let place = match (typed.starts_with('/'), folder) {
        (true, "") => PathBuf::from("/"),
        (_, "") => PathBuf::from("."),
        _ => expanded(folder),
    };
    let prefix = if typed.contains('/') { format!("{folder}/") } else { String::new() };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let mut found: Vec<Candidate> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_offered = name.starts_with(begun) && (begun.starts_with('.') || !name.starts_with('.'));
            let is_simple = !name.chars().any(|c| c.is_whitespace() || c.is_control());
            let end = if entry.path().is_dir() { "/" } else { "" };
            (is_offered && is_simple).then(|| (format!("{prefix}{name}{end}"), String::new()))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completer(answers: Vec<(Listing, Vec<Candidate>)>) -> ChatCompleter {
        let (requests, mut received) = tokio::sync::mpsc::unbounded_channel::<ListRequest>();
        std::thread::spawn(move || {
            while let Some(request) = received.blocking_recv() {
                let found = answers.iter().find(|(what, _)| *what == request.what);
                let _ = request.answer.send(found.map(|(_, list)| list.clone()).unwrap_or_default());
            }
        });
        ChatCompleter::new(requests)
    }

    #[test]
    fn commands_and_their_values_are_offered() {
        let pair = |name: &str| (name.to_owned(), "Title".to_owned());
        let mut completer = completer(vec![
            (Listing::Sops, vec![pair("daily-report")]),
            (Listing::Sessions, vec![pair("webchat:garden"), pair("telegram:5"), pair("webchat:work")]),
            (Listing::Models, vec![pair("fast")]),
            (Listing::Commands, vec![pair("2"), pair("3")]),
        ]);
        let mut check = |line: &str, expected: &[&str]| {
            let found = completer.complete(line, line.len());
            let found: Vec<String> = found.suggestions().iter().map(|one| one.value.clone()).collect();
            assert_eq!(found, expected, "{line:?}");
        };
        check("/da", &["/daily-report"]);
        check("/resu", &["/resume"]);
        check("/resume ", &["garden", "work"]);
        check("/new g", &["garden"]);
        check("/model f", &["fast"]);
        check("/effort h", &["high"]);
        check("/commands ", &["stop 2", "stop 3"]);
        check("/commands stop 3", &["stop 3"]);
        check("/quit ", &[]);
        check("hello /re", &[]);
        check("", &[]);
    }

    #[test]
    fn files_are_offered_after_an_at_sign() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("deep")).unwrap();
        for name in ["notes.md", "next.txt", ".hidden", "two words"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let root = folder.path().to_str().unwrap();
        let names = |typed: &str| -> Vec<String> {
            let found = files(&format!("{root}/{typed}")).into_iter().map(|(path, _)| path);
            found.map(|path| path.replace(&format!("{root}/"), "")).collect()
        };
        assert_eq!(names(""), ["deep/", "next.txt", "notes.md"]);
        assert_eq!(names("n"), ["next.txt", "notes.md"]);
        assert_eq!(names(".h"), [".hidden"]);
        assert_eq!(file_begin("look at @src/ma"), Some(9));
        assert_eq!((file_begin("a\u{3000}@b"), file_begin("a\u{a0}b")), (Some(5), None));
        assert_eq!((file_begin("a@b"), file_begin("@a b")), (None, None));
    }
}
