//! An embedder that drops its assistant, instead of shutting it down, is rid of it all the same.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in tests a failed expectation is the result")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use aethon::{Aethon, Builder};

/// The threads of this process that an assistant starts for itself.
fn own_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("store-") || name.starts_with("recorder")).count()
}

async fn open(home: &Path) -> Aethon {
    let builder = Builder::new().home(home).set("model.provider=echo").set("session_recorder.enabled=true");
    builder.load().unwrap().open().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assistant_that_is_dropped_ends_its_threads() {
    let home = tempfile::tempdir().unwrap();
    let before = own_threads();
    for number in 0..10 {
        let assistant = open(home.path()).await;
        assert!(own_threads() > before, "it has threads of its own");
        let reply = assistant.ask(&format!("embed:{number}"), "hello").await.unwrap();
        assert_eq!(reply.text, "hello");
        drop(assistant);
    }
    // They finish queued work, so it takes them a moment.
    let begun = Instant::now();
    while own_threads() > before {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} threads are left", own_threads() - before);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
