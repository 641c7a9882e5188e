//! Recordings that contradict themselves, case by case.

use std::path::PathBuf;

use aethon_archive::ArchiveWriter;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// A recording that a test can tamper with before it is written.
struct Draft {
    entries: Vec<(String, Vec<u8>)>,
    manifest: Value,
}

fn draft() -> Draft {
    let event = |seq: u64| {
        json!({"seq": seq, "ts": "2026-11-22T10:00:00.000Z", "layer": "agent", "type": "turn_started",
            "data": {"n": seq}, "trace_id": "t"})
    };
    let lines = format!("{}\n{}\n", event(1), event(2));
    let snapshot = |messages: Value, keeps: Value| json!({"keeps": keeps, "messages": messages, "system_prompt": "p", "tools": [], "model": "m", "cwd": "/"});
    let first = snapshot(
        json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": []}]),
        Value::Null,
    );
    let second =
        snapshot(json!([{"role": "user", "content": [{"type": "text", "text": "again"}]}]), json!(1));
    let entries = vec![
        (EVENTS.to_owned(), lines.into_bytes()),
        (snapshot_entry(1), first.to_string().into_bytes()),
        (snapshot_entry(2), second.to_string().into_bytes()),
    ];
    let manifest = json!({"format_version": 1, "session_id": "webchat:a", "started_at": "2026-11-22T10:00:00Z",
        "ended_at": "2026-11-22T10:01:00Z", "version": "0.3.0", "events_count": 2, "snapshots_count": 2});
    Draft { entries, manifest }
}

impl Draft {
    fn entry(&mut self, name: &str, content: &str) -> &mut Self {
        self.entries.retain(|(known, _)| known != name);
        self.entries.push((name.to_owned(), content.as_bytes().to_vec()));
        self
    }

    /// Writes it with correct digests, and opens it.
    fn open(&self) -> Result<Opened> {
        self.open_with(|_| ())
    }

    fn open_with(&self, change: impl FnOnce(&mut Value)) -> Result<Opened> {
        let folder = TempDir::new().unwrap();
        let path: PathBuf = folder.path().join("a.zip");
        let mut zip = ArchiveWriter::new(File::create(&path).unwrap(), Limits::RECORDING);
        for (name, content) in &self.entries {
            if name.ends_with('/') {
                zip.add_folder(name).unwrap();
            } else {
                zip.add_written(name, content.len() as u64, |out| out.write_all(content)).unwrap();
            }
        }
        let mut manifest = self.manifest.clone();
        manifest["entries"] = json!(zip.sums());
        change(&mut manifest);
        let manifest = manifest.to_string();
        zip.add_written(MANIFEST, manifest.len() as u64, |out| out.write_all(manifest.as_bytes())).unwrap();
        zip.finish().unwrap();
        let mut opened = Opened::open(&path)?;
        opened.check()?;
        Ok(opened)
    }
}

#[test]
fn a_minimal_recording_is_read() {
    let mut draft = draft();
    draft.entry("notes/", "").entry("notes/why.txt", "somebody's own");
    let mut opened = draft.open().unwrap();
    let state = opened.state(2).unwrap();
    let texts: Vec<String> = state.messages.iter().map(aethon_core::message::Message::text).collect();
    assert_eq!(texts, ["hi", "again"]);
    assert_eq!(
        (state.system_prompt.as_str(), state.model.as_str(), state.summary.message_count),
        ("p", "m", 2)
    );
    let counts: Vec<u64> = opened.snapshots().unwrap().iter().map(|summary| summary.message_count).collect();
    assert_eq!(counts, [2, 2]);
    assert!(opened.state(0).unwrap_err().is_not_found() && opened.state(3).unwrap_err().is_not_found());
    let query = EventQuery { limit: 1, ..EventQuery::default() };
    let page = opened.events(&query).unwrap();
    assert_eq!((page.events.len(), page.next_after), (1, Some(1)));
    let page = opened.events(&EventQuery { after: Some(1), limit: 9, ..EventQuery::default() }).unwrap();
    assert_eq!((page.events[0].seq, page.next_after), (2, None));
}

#[test]
fn contradictory_recordings_are_refused() {
    let check = |found: Result<Opened>, expected: &str| {
        let error = found.expect_err(expected);
        assert!(
            error.is_bad_recording() && error.to_string().contains(expected),
            "{error} is not {expected:?}"
        );
    };
    let with = |field: &'static str, value: Value| draft().open_with(|manifest| manifest[field] = value);
    check(with("format_version", json!(2)), "of the format 2");
    check(with("format_version", json!("1")), "manifest.json");
    check(with("events_count", json!(3)), "says 3");
    check(with("snapshots_count", json!(1)), "other snapshots");
    check(with("snapshots_count", json!(3)), "other snapshots");
    check(with("snapshots_count", json!(u64::MAX)), "more snapshots");
    check(with("started_at", json!("yesterday")), "manifest.json");
    check(with("session_id", json!("x".repeat(2000))), "too long");
    check(with("entries", json!({})), "not in its manifest");
    let sum = |name: &'static str, sum: Value| draft().open_with(|manifest| manifest["entries"][name] = sum);
    check(sum(EVENTS, json!("00")), "another checksum");
    check(sum("snapshots/000002.json", json!("0".repeat(64))), "another checksum");
    check(sum("gone.txt", json!("00")), "not in the file");
    check(draft().entry(EVENTS, "{}\n").open(), "event 1 cannot be read");
    check(draft().entry(EVENTS, "[[[[\n").open(), "event 1 cannot be read");
    check(draft().entry(EVENTS, &"[".repeat(100_000)).open(), "event 1 cannot be read");
    let backwards = r#"{"seq":2,"ts":"","layer":"sys","type":"x"}
{"seq":1,"ts":"","layer":"sys","type":"x"}"#;
    check(draft().entry(EVENTS, backwards).open(), "out of order");
    check(draft().entry("snapshots/000002.json", "{}").open(), "snapshot 2 cannot be read");
    check(
        draft().entry("snapshots/000002.json", r#"{"keeps": 9, "messages": []}"#).open(),
        "messages that are not there",
    );
    check(draft().entry("snapshots/000004.json", r#"{"messages": []}"#).open(), "other snapshots");
    let mut without = draft();
    without.entries.remove(0);
    check(without.open(), "no events.jsonl");
    let mut no_manifest = draft();
    no_manifest.entries.clear();
    check(no_manifest.open_with(|manifest| *manifest = json!("nothing")), "manifest.json");
}

#[test]
fn a_recording_from_before_the_archive_crate_is_read() {
    // Written by the recorder when it packed its files itself.
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.zip");
    std::fs::write(&path, include_bytes!("../../tests/data/written_before.zip")).unwrap();
    let mut opened = Opened::open(&path).unwrap();
    opened.check().unwrap();
    assert_eq!(opened.manifest.snapshots_count, 3);
    assert_eq!(opened.state(3).unwrap().messages.len(), 6);
}

#[test]
fn links_folders_and_names_that_differ_only_in_case_are_refused() {
    let folder = TempDir::new().unwrap();
    let link = folder.path().join("link.zip");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    assert!(Opened::open(&link).unwrap_err().is_bad_recording());
    assert!(Opened::open(folder.path()).unwrap_err().is_bad_recording());
    assert!(Opened::open(&folder.path().join("none")).unwrap_err().is_not_found());
    let error = draft().entry("a.txt", "").entry("A.txt", "").open().unwrap_err();
    assert!(error.is_bad_recording() && error.to_string().contains("stands in it twice"), "{error}");
}
