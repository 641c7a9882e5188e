//! The file near its largest size: refusals, removals and messages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::error::Error;
use aethon_core::ids::TurnId;
use aethon_core::message::Inbound;
use aethon_core::person::Person;
use aethon_core::session::{Transcripts, TurnLog};
use aethon_core::storage::{OneshotLimit, Upkeep};
use aethon_store::Options;
use common::*;

const MEBIBYTE: usize = 1 << 20;

fn limited(bytes: usize) -> Home {
    Home::with(Options::default().with(|options| options.max_bytes = Some(bytes as u64)))
}

async fn send(home: &Home, inbound: Inbound) -> Result<(), Error> {
    let turn = TurnId::fresh();
    home.store.accept(&turn, &inbound, Some(begin(&inbound.text))).await?;
    home.store.finish(finish(&turn, inbound.session.as_str(), "done")).await?;
    home.advance(1);
    Ok(())
}

/// Sends until something is refused. Returns how many were taken, and the refusal.
async fn fill(home: &Home, message: impl Fn(usize) -> Inbound) -> (usize, Error) {
    for n in 0..10_000 {
        if let Err(error) = send(home, message(n)).await {
            return (n, error);
        }
    }
    panic!("nothing is ever refused");
}

fn called(id: &str, bytes: usize) -> Inbound {
    say(id, &"word ".repeat(bytes / 5)).via("webhook")
}

async fn oneshots(home: &Home) -> u64 {
    home.store.limit_oneshots(OneshotLimit::of(u32::MAX)).await.unwrap().left
}

#[tokio::test]
async fn strangers_leave_a_quarter_of_the_file_to_the_owner() {
    let text = "word ".repeat(20_000);
    let guest = Person::guest("telegram", "1");
    let strangers: [fn(&str, &Person, &str) -> Inbound; 3] = [
        |id, _, text| say(id, text).via("webhook"),
        |id, _, text| say(id, text).with_untrusted(true),
        |id, guest, text| say(id, text).for_person(guest.clone()),
    ];
    for (row, stranger) in strangers.into_iter().enumerate() {
        let home = limited(4 * MEBIBYTE);
        let (_, refused) = fill(&home, |_| stranger("telegram:x", &guest, &text)).await;
        assert!(refused.is_no_room() && refused.is_busy() && !refused.is_unavailable(), "{row}: {refused}");
        assert!(refused.to_string().contains("`storage.max_mb`"), "{row}: {refused}");
        assert!(home.store.health().fault().is_none(), "{row}: it is no fault of the storage");
        // The owner continues where strangers had to stop.
        let (taken, full) = fill(&home, |_| say("webchat:own", &text)).await;
        assert!(taken >= 3 && full.is_unavailable(), "{row}: {taken} {full}");
        assert!(full.to_string().contains("`storage.max_mb`"), "{row}: {full}");
        assert!(!full.to_string().contains("disk"), "{row}: the disk is not full: {full}");
    }
}

#[tokio::test]
async fn oneshot_sessions_are_removed_before_a_stranger_is_refused() {
    let home = limited(4 * MEBIBYTE);
    home.turn("webchat:own", "kept", "ok").await;
    for n in 0..60 {
        let id = format!("webhook:trigger:{n}");
        send(&home, called(&id, 100_000).with_oneshot(true)).await.unwrap();
    }
    let left = oneshots(&home).await;
    assert!((3..40).contains(&left), "{left} are left of 60");
    let newest = session("webhook:trigger:59");
    assert!(home.store.session(&newest).await.unwrap().is_some(), "the longest unused went");
    assert!(home.store.session(&session("webchat:own")).await.unwrap().is_some());
}

#[tokio::test]
async fn oneshot_sessions_are_removed_before_the_owner_is_refused() {
    let home = limited(4 * MEBIBYTE);
    for n in 0..10 {
        let id = format!("webhook:trigger:{n}");
        send(&home, called(&id, 100_000).with_oneshot(true)).await.unwrap();
    }
    // In use: it stays.
    let busy = called("webhook:trigger:busy", 100).with_oneshot(true);
    home.store.accept(&TurnId::fresh(), &busy, Some(begin("busy"))).await.unwrap();
    let text = "word ".repeat(20_000);
    let (_, full) = fill(&home, |_| say("webchat:own", &text)).await;
    assert!(full.to_string().contains("`storage.max_mb`"), "{full}");
    assert_eq!(oneshots(&home).await, 1, "all others went first");
    assert!(home.store.session(&session("webhook:trigger:busy")).await.unwrap().is_some());
    // Removed rows are free space at once.
    assert!(home.store.clear(&session("webchat:own"), aethon_core::session::Clear::Delete).await.unwrap());
    send(&home, say("webchat:new", &text)).await.unwrap();
}

#[tokio::test]
async fn oneshot_sessions_are_limited_in_bytes() {
    let home =
        Home::with(Options::default().with(|options| options.max_oneshot_bytes = Some(MEBIBYTE as u64)));
    let job = called("job:owners", 100).via("scheduler").with_oneshot(true);
    send(&home, job).await.unwrap();
    for n in 0..40 {
        let id = format!("webhook:trigger:{n}");
        send(&home, called(&id, 50_000).with_oneshot(true)).await.unwrap();
    }
    let now = home.store.limit_oneshots(OneshotLimit::of(u32::MAX)).await.unwrap();
    assert!(now.bytes < 2 * MEBIBYTE as u64 && now.left < 20, "{now:?}");
    assert!(home.store.session(&session("webhook:trigger:39")).await.unwrap().is_some());
    let job = home.store.session(&session("job:owners")).await.unwrap();
    assert!(job.is_some(), "those of webhooks go before the owner's older ones");
}

#[tokio::test]
async fn a_duplicate_message_is_recognized_without_room() {
    let home = limited(4 * MEBIBYTE);
    let keyed = || say_as("webhook:x", "hello", "k", Some(60)).via("webhook");
    send(&home, keyed()).await.unwrap();
    let text = "word ".repeat(20_000);
    fill(&home, |_| say("webhook:x", &text).via("webhook")).await;
    let again = home.store.accept(&TurnId::fresh(), &keyed(), None).await.unwrap();
    assert!(matches!(again, aethon_core::session::Accepted::Known(_)));
}
