//! Two writers of the configuration through the kills, over the API and in a terminal. Each has a key of its own and counts it
//! up; an acknowledged value never goes back, despite other writers and kills.

use std::process::Stdio;
use std::time::Duration;

use aethon_tests::http::exchange;
use aethon_tests::{Request, Server, program};
use serde_json::json;

use super::TortureRun;

/// Where the values begin, so that they harm nothing.
const FIRST: u64 = 12_000;

/// The pause between the changes of one writer.
const PAUSE: Duration = Duration::from_millis(100);

/// The record of one writer.
pub(super) struct WriterRecord {
    key: &'static str,
    acknowledged: u64,
    attempted: u64,
}

/// Changes a key over the API.
pub(super) fn over_the_api(stage: &TortureRun) -> WriterRecord {
    count(stage, "agent.max_tool_output_chars", |key, value| {
        let request = Request::new("PATCH", "/api/config").header("Content-Type", "application/json");
        let bytes = request.body(json!({ key: value }).to_string()).bytes(stage.address());
        exchange(stage.address(), &bytes).is_ok_and(|answer| answer.status == 200)
    })
}

/// Changes a key in a terminal.
pub(super) fn in_a_terminal(stage: &TortureRun) -> WriterRecord {
    count(stage, "memory.recall_max_chars", |key, value| {
        let mut command = program("aethon-cli", stage.home.path());
        command.args(["config", "set", key, &value.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

fn count(stage: &TortureRun, key: &'static str, change: impl Fn(&str, u64) -> bool) -> WriterRecord {
    let mut written = WriterRecord { key, acknowledged: FIRST, attempted: FIRST };
    while !stage.is_over() {
        written.attempted += 1;
        if change(key, written.attempted) {
            written.acknowledged = written.attempted;
        }
        std::thread::sleep(PAUSE);
    }
    written
}

/// Compares the file with the acknowledged values. Returns how many changes were.
pub(super) fn check(server: &Server, writers: &[WriterRecord]) -> u64 {
    if writers.is_empty() {
        return 0;
    }
    let text = std::fs::read_to_string(server.home().path().join("config.toml")).expect("the configuration");
    let entries = std::fs::read_dir(server.home().path()).expect("the home");
    let left = entries.filter(|entry| {
        entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(".aethon-new-"))
    });
    assert!(left.count() <= 1, "only the last kill may have left something");
    for WriterRecord { key, acknowledged, attempted } in writers {
        let name = key.rsplit('.').next().expect("a name");
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().strip_prefix('='));
        let value = line.and_then(|value| value.trim().parse().ok()).unwrap_or(FIRST);
        let allowed = *acknowledged..=*attempted;
        assert!(allowed.contains(&value), "{key} is {value} and was acknowledged as {acknowledged}: {text}");
    }
    writers.iter().map(|written| written.acknowledged - FIRST).sum()
}
