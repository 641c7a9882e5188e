//! An embedder that drops its assistant, instead of shutting it down, is rid of it all the same.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in tests a failed expectation is the result")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use aethon::core::ids::SessionId;
use aethon::core::message::TurnEnd;
use aethon::core::surface::TurnEvent;
use aethon::{Aethon, Builder, Service};
use tokio::sync::Mutex;

/// The tests look at the whole process, so they take turns where they share one.
static TURNSTILE: Mutex<()> = Mutex::const_new(());

/// The threads of this process that an assistant starts for itself.
fn own_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("store-") || name.starts_with("recorder")).count()
}

/// The open files of this process below this folder, and its sockets.
fn open_files(below: &Path) -> usize {
    let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    targets.filter(|target| target.starts_with(below)).count()
}

fn builder(home: &Path) -> Builder {
    let builder = Builder::new().home(home).set("model.provider=fake").set("channels.webchat.port=0");
    builder.set("session_recorder.enabled=true")
}

async fn open(home: &Path) -> Aethon {
    builder(home).load().unwrap().open().await.unwrap()
}

/// Waits until nothing of an assistant is left. It finishes queued work, so that takes it a moment.
async fn wait_until_gone(home: &Path, threads: usize) {
    let begun = Instant::now();
    while own_threads() > threads || open_files(home) > 0 {
        let (threads, files) = (own_threads() - threads, open_files(home));
        assert!(begun.elapsed() < Duration::from_secs(30), "{threads} threads and {files} files are left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assistant_that_is_dropped_ends_its_threads_and_closes_its_files() {
    let _alone = TURNSTILE.lock().await;
    let home = tempfile::tempdir().unwrap();
    let before = own_threads();
    for number in 0..20 {
        let assistant = open(home.path()).await;
        assert!(own_threads() > before, "it has threads of its own");
        assert!(open_files(home.path()) > 0, "and files");
        let reply = assistant.ask(&format!("embed:{number}"), "!say hello").await.unwrap();
        assert_eq!(reply.text, "hello");
        drop(assistant);
    }
    wait_until_gone(home.path(), before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_in_progress_is_stopped_and_stored() {
    let _alone = TURNSTILE.lock().await;
    let home = tempfile::tempdir().unwrap();
    let before = own_threads();
    let assistant = open(home.path()).await;
    let entry = assistant.assistant();
    let mut answer = assistant.ask_stream("embed:long", "!stream 100000 20").await.unwrap();
    while !matches!(answer.next().await.unwrap().unwrap(), TurnEvent::Text(_)) {}
    drop(assistant);
    let reply = answer.reply().await.unwrap();
    assert_ne!(reply.end, TurnEnd::End, "{}", reply.text);
    // The end of a turn is announced before its agent is handed back.
    let begun = Instant::now();
    while !entry.activity().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the turn is still listed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(entry);
    wait_until_gone(home.path(), before).await;
    let assistant = open(home.path()).await;
    let session = SessionId::parse("embed:long").unwrap();
    assert!(assistant.session_document(&session, 10).await.unwrap().is_some());
    assistant.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_dropped_frees_its_home_and_its_port() {
    let _alone = TURNSTILE.lock().await;
    let home = tempfile::tempdir().unwrap();
    let service = Service::start(builder(home.path()).load().unwrap()).await.unwrap();
    let address = service.local_addr().unwrap();
    assert_eq!(service.aethon().ask("embed:one", "!say hello").await.unwrap().text, "hello");
    drop(service);
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nothing listens at {address}");
    let next = Service::start(builder(home.path()).load().unwrap()).await.unwrap();
    next.run(std::future::ready(())).await.unwrap();
}
