//! An LRU cache of context windows, kept between turns.
//!
//! It is bounded by the memory that the windows really take, and a window that was not used for a while is dropped:
//! the next turn of its session reads the conversation from the storage, as after a restart.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::ids::{AgentName, MessageId, SessionId};
use aethon_core::weight;
use tokio::time::Instant;

use super::view::ContextWindow;

/// How long a window is kept without a turn in its session.
pub(crate) const IDLE: Duration = Duration::from_secs(600);

/// The windows of sessions in which no turn is running; a running turn owns its window.
pub(crate) struct ContextWindows {
    kept: Mutex<Kept>,
    most_sessions: usize,
    most_bytes: usize,
}

#[derive(Default)]
struct Kept {
    windows: HashMap<SessionId, Entry>,
    uses: u64,
    bytes: usize,
}

/// Whose window it is: that of an agent, with its own models or with one that was chosen by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WindowOwner {
    pub(crate) agent: AgentName,
    pub(crate) model: Option<Arc<str>>,
}

struct Entry {
    /// When it was last put back, counted in uses of the cache.
    used: u64,
    /// The time of that.
    at: Instant,
    /// Its size in memory, with its own place here.
    bytes: usize,
    /// Its owner; its size and token counts are those of the owner's models.
    owner: WindowOwner,
    /// The newest message that it includes.
    newest: Option<MessageId>,
    window: ContextWindow,
}

impl ContextWindows {
    pub(crate) fn new(most_sessions: usize, most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_sessions, most_bytes }
    }

    /// Takes a session's window out of the cache, if it is there, is this owner's, and includes everything up to
    /// `newest`. A window of another owner is dropped, because it is about to fall behind; so is one that another program
    /// has outdated by writing to the session.
    pub(crate) fn take(
        &self,
        session: &SessionId,
        owner: &WindowOwner,
        newest: Option<MessageId>,
    ) -> Option<ContextWindow> {
        let entry = self.lock().remove(session)?;
        (entry.owner == *owner && entry.newest == newest).then_some(entry.window)
    }

    /// Returns the context page that the session's model has last seen; `None` if the window is not cached.
    pub(crate) fn context(&self, session: &SessionId) -> Option<Option<Arc<str>>> {
        self.lock().windows.get(session).map(|entry| entry.window.context().cloned())
    }

    /// Puts back a window that includes everything up to `newest`.
    pub(crate) fn put(
        &self,
        session: &SessionId,
        (owner, newest): (WindowOwner, Option<MessageId>),
        window: ContextWindow,
    ) {
        let mut kept = self.lock();
        kept.remove(session);
        kept.uses += 1;
        let place = size_of::<(SessionId, Entry)>() + weight::shared_text(session.as_str());
        let bytes = place + window.bytes();
        kept.bytes += bytes;
        let (used, at) = (kept.uses, Instant::now());
        let entry = Entry { used, at, bytes, owner, newest, window };
        kept.windows.insert(session.clone(), entry);
        while kept.windows.len() > self.most_sessions || kept.bytes > self.most_bytes {
            let oldest = kept.windows.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { break };
            kept.remove(&oldest);
        }
    }

    /// Drops the windows that have been idle for long, and the room that was reserved for them.
    pub(crate) fn drop_idle(&self) {
        let dropped: Vec<Entry> = {
            let mut kept = self.lock();
            let is_idle = |entry: &Entry| entry.at.elapsed() >= IDLE;
            let idle = kept.windows.iter().filter(|(_, entry)| is_idle(entry)).map(|(id, _)| id.clone());
            let idle: Vec<SessionId> = idle.collect();
            let dropped = idle.iter().filter_map(|session| kept.remove(session)).collect();
            if !idle.is_empty() {
                kept.windows.shrink_to_fit();
            }
            dropped
        };
        // Freeing thousands of messages takes a while, during which turns can take theirs.
        drop(dropped);
    }

    /// Returns the bytes that the windows take.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Drops a session's window, because its transcript has changed.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// Drops all windows, because the models whose tokens they counted have been replaced.
    pub(crate) fn forget_all(&self) {
        let mut kept = self.lock();
        kept.windows.clear();
        kept.bytes = 0;
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, session: &SessionId) -> Option<Entry> {
        let entry = self.windows.remove(session)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::message::{Block, Message, Role, ToolCall, ToolResult};
    use jiff::Timestamp;
    use serde_json::json;

    use super::super::TokenCounter;
    use super::super::view::Rule;
    use super::*;

    /// Returns the anonymous memory of this process, which no file backs.
    fn resident_bytes() -> Option<usize> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        let kibibytes: usize = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kibibytes << 10)
    }

    fn owner() -> WindowOwner {
        WindowOwner { agent: AgentName::parse("main").unwrap(), model: None }
    }

    fn session(number: usize) -> SessionId {
        SessionId::of("webchat", &number.to_string()).unwrap()
    }

    fn window(messages: impl IntoIterator<Item = Message>) -> ContextWindow {
        let mut window = ContextWindow::new(Rule::default(), TokenCounter::default());
        messages.into_iter().for_each(|message| window.push(Arc::new(message)));
        window
    }

    fn message(role: Role, block: Block) -> Message {
        Message::new(role, vec![block], Timestamp::UNIX_EPOCH)
    }

    /// Creates a turn with a call: short texts, whose weight is not in their letters.
    fn turn(number: usize) -> [Message; 4] {
        let (id, name) = (format!("call_{number:08}"), "shell".to_owned());
        let call = ToolCall { id, name, input: json!({"command": "ls", "timeout": number}), opaque: None };
        let result = Block::ToolResult(ToolResult::ok(&call, "a line of output\n".repeat(number % 20)));
        [
            message(Role::User, Block::text(format!("question {number}"))),
            message(Role::Assistant, Block::ToolCall(call)),
            message(Role::Tool, result),
            message(Role::Assistant, Block::text("an answer ".repeat(1 + number % 30))),
        ]
    }

    fn put(windows: &ContextWindows, number: usize, window: ContextWindow) {
        windows.put(&session(number), (owner(), None), window);
    }

    #[test]
    fn counted_window_size_matches_resident_memory() {
        let windows = ContextWindows::new(usize::MAX, usize::MAX);
        let Some(before) = resident_bytes() else { return };
        for number in 0..400 {
            put(&windows, number, window((0..40).flat_map(turn)));
        }
        let taken = resident_bytes().unwrap().saturating_sub(before);
        let counted = windows.bytes() as f64;
        assert!(counted > 30e6, "{counted}");
        let ratio = counted / taken as f64;
        assert!((0.75..1.25).contains(&ratio), "{counted} counted, {taken} taken: {ratio}");
    }

    #[test]
    fn least_recently_used_window_is_evicted_at_the_bound() {
        let windows = ContextWindows::new(usize::MAX, 1 << 20);
        for number in 0..100 {
            put(&windows, number, window((0..20).flat_map(turn)));
            assert!(windows.bytes() <= 1 << 20);
        }
        assert!(windows.take(&session(0), &owner(), None).is_none());
        assert!(windows.take(&session(99), &owner(), None).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn window_unused_for_ten_minutes_is_dropped() {
        let windows = ContextWindows::new(256, 32 << 20);
        put(&windows, 1, window(turn(1)));
        tokio::time::advance(IDLE / 2).await;
        put(&windows, 2, window(turn(2)));
        tokio::time::advance(IDLE / 2).await;
        windows.drop_idle();
        assert!(windows.take(&session(1), &owner(), None).is_none());
        assert!(windows.take(&session(2), &owner(), None).is_some(), "it is in use");
        assert_eq!(windows.bytes(), 0);
    }
}
