//! Recordings that are being written, as a listing shows them: from the first record of each locked journal.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

use aethon_core::recording::{RecordingName, RunningRecording};

use crate::journal::{Journal, Kind};
use crate::names::JOURNAL;
use crate::record::Head;

/// How many are listed at most; the newest ones.
const MAX_LISTED: usize = 1_000;

/// Those in this folder, the newest first. Unreadable journals are left out; the recorder reports them.
pub(crate) fn running(folder: &Path) -> Vec<RunningRecording> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let names = files.flatten().filter_map(|file| file.file_name().into_string().ok());
    let mut found: Vec<RunningRecording> =
        names.filter_map(|name| describe(folder, name.strip_suffix(JOURNAL)?)).collect();
    found.sort_unstable_by(|one, other| {
        (Reverse(&one.started_at), &one.name).cmp(&(Reverse(&other.started_at), &other.name))
    });
    found.truncate(MAX_LISTED);
    found
}

fn describe(folder: &Path, stem: &str) -> Option<RunningRecording> {
    let name = RecordingName::parse(stem)?;
    let journal = Journal::look_at(folder, stem).ok()??;
    let (kind, json) = journal.records().next().ok()??;
    let head: Head = serde_json::from_slice(&json).ok().filter(|_| kind == Kind::Head)?;
    let Head { session_id, started_at, .. } = head;
    Some(RunningRecording { name, session_id, started_at, size: journal.bytes() })
}
