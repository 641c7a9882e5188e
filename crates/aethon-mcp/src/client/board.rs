//! Current state and tools of every server. Keepers write it; the toolbox, `doctor` and the list of features read it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use aethon_core::tool::{Tool, ToolSnapshot, ToolSource};
use async_trait::async_trait;
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
    /// Faults of single tools, some of them by name.
    remarks: Vec<String>,
    /// Whether it has been connected or has failed since the start.
    has_settled: bool,
}

/// State of all servers, by name.
pub(super) struct Board {
    entries: RwLock<Entries>,
    changed: watch::Sender<()>,
}

struct Entries {
    by_name: BTreeMap<String, Entry>,
    /// Whether the servers were started at all.
    has_begun: bool,
    snapshot: ToolSnapshot,
}

impl Board {
    pub(super) fn new(names: impl Iterator<Item = String>) -> Self {
        let idle = |name| {
            (
                name,
                Entry {
                    state: ServerState::Idle,
                    tools: Vec::new(),
                    remarks: Vec::new(),
                    has_settled: false,
                },
            )
        };
        let entries = Entries {
            by_name: names.map(idle).collect(),
            has_begun: false,
            snapshot: ToolSnapshot::default(),
        };
        Self { entries: RwLock::new(entries), changed: watch::Sender::new(()) }
    }

    /// Records the state and tools of a server.
    pub(super) fn put(&self, name: &str, state: ServerState, tools: Vec<Arc<dyn Tool>>) {
        {
            let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
            let Some(entry) = entries.by_name.get_mut(name) else { return };
            entry.has_settled |= state.is_settled();
            if !matches!(state, ServerState::Connected { .. }) {
                entry.remarks = Vec::new();
            }
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

    /// Records a failure of a server whose connection and tools stay.
    pub(super) fn degrade(&self, name: &str, why: String) {
        {
            let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
            let Some(entry) = entries.by_name.get_mut(name) else { return };
            entry.has_settled = true;
            entry.state = ServerState::Failing { why };
        }
        self.changed.send_replace(());
    }

    /// Records faults of single tools of a server.
    pub(super) fn remark(&self, name: &str, remarks: Vec<String>) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.by_name.get_mut(name) {
            entry.remarks = remarks;
        }
    }

    /// Returns the faults of single tools, by server.
    pub(super) fn remarks(&self) -> BTreeMap<String, Vec<String>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let with_remarks = entries.by_name.iter().filter(|(_, entry)| !entry.remarks.is_empty());
        with_remarks.map(|(name, entry)| (name.clone(), entry.remarks.clone())).collect()
    }

    /// Notes that the servers are being started.
    pub(super) fn begin(&self) {
        self.entries.write().unwrap_or_else(PoisonError::into_inner).has_begun = true;
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

#[async_trait]
impl ToolSource for Board {
    fn name(&self) -> &str {
        "mcp"
    }

    fn tools(&self) -> ToolSnapshot {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).snapshot.clone()
    }

    fn starting(&self) -> Vec<String> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let is_first = |entry: &Entry| entries.has_begun && !entry.has_settled;
        entries.by_name.iter().filter(|(_, entry)| is_first(entry)).map(|(name, _)| name.clone()).collect()
    }

    async fn ready(&self) {
        let mut changed = self.changed.subscribe();
        while !self.starting().is_empty() {
            // Cannot fail: the board itself holds the sender.
            let _ = changed.changed().await;
        }
    }
}
