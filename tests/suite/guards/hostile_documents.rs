//! Hostile documents cost only themselves: each is read or refused in words, in time, and the service stays as it was.

use std::time::{Duration, Instant};

use aethon_tests::{Server, eventually, hostile};
use serde_json::json;

/// How long a document may take, with the wait for a place: a child has 20 s.
const LONGEST: Duration = Duration::from_secs(40);
/// How much the service may grow by what passes through it, in KiB: the text of the longest documents.
const MAX_GROWTH: u64 = 96 << 10;

#[test]
fn hostile_documents_cost_only_themselves() {
    let server = Server::start(&[]);
    let workspace = server.home().path().join("workspace");
    let mut chat = server.chat("reader");
    let documents = hostile::documents();
    assert!(documents.len() >= 30, "{}", documents.len());
    // What reading takes at all is there before it is measured.
    std::fs::write(workspace.join("warm.rtf"), b"{\\rtf1 warm}").unwrap();
    chat.say("warm", "!tool file_read {\"path\": \"warm.rtf\"}");
    let before = server.holding();
    for (number, (name, bytes)) in documents.iter().enumerate() {
        std::fs::write(workspace.join(name), bytes).unwrap();
        let begun = Instant::now();
        let call = format!("!tool file_read {}", json!({"path": name}));
        let frames = chat.say(&format!("m{number}"), &call);
        assert!(begun.elapsed() < LONGEST, "{name} took {:?}", begun.elapsed());
        let output =
            frames.iter().filter_map(|frame| frame["output"].as_str()).next_back().unwrap_or_default();
        assert!(!output.trim().is_empty(), "{name}: {frames:?}");
        let is_read_in_part = *name != "same-chapter-again.epub" || output.contains("[section 1]");
        assert!(is_read_in_part, "{name}: what was read before the end is lost: {output}");
        assert!(!output.contains("root:"), "{name} shows a file of the machine: {output}");
        eprintln!("{name}: {:?} {:?}", begun.elapsed(), output.chars().take(160).collect::<String>());
    }
    eventually("the readers are gone", || (hostile::readers(server.process()) == 0).then_some(()));
    let after = server.holding();
    assert!(after.threads <= before.threads + 4, "{before:?} {after:?}");
    assert!(after.descriptors <= before.descriptors + 4, "{before:?} {after:?}");
    assert!(after.resident <= before.resident + MAX_GROWTH, "{before:?} {after:?}");
    assert_eq!(chat.say("last", "!say still here").last().unwrap()["text"], "still here");
}
