//! Current state and tools of every server. Keepers write it; the toolbox, `doctor` and the list of features read it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use aethon_core::tool::{Tool, ToolSnapshot, ToolSource};
use tokio::sync::watch;

/// State of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// Nothing has needed it yet.
    Idle,
    /// It is being connected to.
    Starting,
    /// Its tools can be called.
    Connected {
        /// How many tools it has.
        tools: usize,
        /// How many of its tools were left out, because they are too many, too large or badly named.
        left_out: usize,
    },
    /// It wants a person to sign in.
    NeedsSignIn {
        /// The command for it.
        command: String,
    },
    /// It cannot be used now; the connection will be retried.
    Failing {
        /// The reason, in a sentence.
        why: String,
    },
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("not started yet"),
            Self::Starting => f.write_str("starting"),
            Self::Connected { tools, left_out: 0 } => write!(f, "connected, {tools} tools"),
            Self::Connected { tools, left_out } => write!(f, "connected, {tools} tools, {left_out} left out"),
            Self::NeedsSignIn { command } => write!(f, "needs sign-in: run {command}"),
            Self::Failing { why } => write!(f, "failing: {why}"),
        }
    }
}

impl ServerState {
    fn is_settled(&self) -> bool {
        matches!(self, Self::Connected { .. } | Self::NeedsSignIn { .. } | Self::Failing { .. })
    }
}

/// The tools of each server that has any.
pub type ToolsByServer = BTreeMap<String, Vec<Arc<dyn Tool>>>;

struct Entry {
    state: ServerState,
    tools: Vec<Arc<dyn Tool>>,
}

/// State of all servers, by name.
pub(super) struct Board {
    entries: RwLock<Entries>,
    changed: watch::Sender<()>,
}

struct Entries {
    by_name: BTreeMap<String, Entry>,
    snapshot: ToolSnapshot,
}

impl Board {
    pub(super) fn new(names: impl Iterator<Item = String>) -> Self {
        let idle = |name| (name, Entry { state: ServerState::Idle, tools: Vec::new() });
        let entries = Entries { by_name: names.map(idle).collect(), snapshot: ToolSnapshot::default() };
        Self { entries: RwLock::new(entries), changed: watch::Sender::new(()) }
    }

    /// Records the state and tools of a server.
    pub(super) fn put(&self, name: &str, state: ServerState, tools: Vec<Arc<dyn Tool>>) {
        {
            let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
            let Some(entry) = entries.by_name.get_mut(name) else { return };
            entry.state = state;
            let changes = !(entry.tools.is_empty() && tools.is_empty());
            entry.tools = tools;
            if changes {
                let all = entries.by_name.values().flat_map(|entry| entry.tools.iter().cloned()).collect();
                entries.snapshot = ToolSnapshot { version: entries.snapshot.version + 1, tools: all };
            }
        }
        self.changed.send_replace(());
    }

    pub(super) fn states(&self) -> Vec<(String, ServerState)> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.by_name.iter().map(|(name, entry)| (name.clone(), entry.state.clone())).collect()
    }

    /// Returns the tools of each server that has any, and a number that changes with them.
    pub(super) fn tools_by_server(&self) -> (u64, ToolsByServer) {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let with_tools = entries.by_name.iter().filter(|(_, entry)| !entry.tools.is_empty());
        let all = with_tools.map(|(name, entry)| (name.clone(), entry.tools.clone())).collect();
        (entries.snapshot.version, all)
    }

    /// Waits until every server is connected or failing.
    pub(super) async fn settled(&self) {
        let mut changed = self.changed.subscribe();
        while !self.states().iter().all(|(_, state)| state.is_settled()) {
            // Cannot fail: the board itself holds the sender.
            let _ = changed.changed().await;
        }
    }
}

impl ToolSource for Board {
    fn name(&self) -> &str {
        "mcp"
    }

    fn tools(&self) -> ToolSnapshot {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).snapshot.clone()
    }
}
