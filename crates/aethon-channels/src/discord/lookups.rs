//! Remembered facts about channels and servers, and reading lists page by page.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::api::Api;
use crate::talk::{Failure, Fault, Intake};

/// Where the last message of a chat is stored.
pub(super) const LAST: &str = "last:";
/// Suffix of a message id in a private chat.
pub(super) const PRIVATE: &str = " private";
/// The longest pause that is waited out here.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// How many channels and servers are remembered.
pub(super) const MAX_REMEMBERED: usize = 1000;

/// The remembered facts.
#[derive(Default)]
pub(super) struct Lookups {
    pub(super) channels: Mutex<HashMap<String, ChannelInfo>>,
    pub(super) roles: Mutex<HashMap<String, (Instant, Vec<String>)>>,
}

/// The facts about a channel.
#[derive(Debug, Clone, Default)]
pub(super) struct ChannelInfo {
    pub(super) guild: Option<String>,
    pub(super) is_thread: bool,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every statement leaves the map consistent, so a poisoned lock is usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the last message of a chat that was for us.
pub(super) async fn last(intake: &Intake, chat: &str) -> aethon_core::error::Result<Option<u64>> {
    let stored = intake.records().get("discord", &format!("{LAST}{chat}")).await?;
    Ok(stored.and_then(|stored| stored.strip_suffix(PRIVATE).unwrap_or(&stored).parse().ok()))
}

/// Fetches a page, waiting out the pauses that Discord asks for.
pub(super) async fn page(api: &Api, path: &str) -> Result<Value, Failure> {
    loop {
        match api.get(path).await {
            Err(Failure::Fault(Fault::Later { after: Some(after), .. })) if after <= MAX_PAUSE => {
                sleep(after).await;
            }
            other => return other,
        }
    }
}
