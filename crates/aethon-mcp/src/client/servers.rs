//! The set of all servers. Constructing it starts nothing; starting it does not block.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use aethon_core::tool::ToolSource;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::board::{Board, ServerState, ToolsByServer};
use super::connect::People;
use super::keeper::Keeper;
use super::options::{Address, OfferRules, Options, ServerOptions};

/// How long servers may take to end before they are killed.
const ENDING: Duration = Duration::from_secs(3);

/// The servers that the assistant borrows tools from.
pub struct Servers {
    board: Arc<Board>,
    shutdown: Shutdown,
    trigger: ShutdownTrigger,
    keepers: Mutex<Keepers>,
}

#[derive(Default)]
struct Keepers {
    waiting: Vec<Keeper>,
    running: JoinSet<()>,
}

impl Servers {
    /// Creates the set. No server is started yet.
    pub fn new(options: Options) -> Self {
        let Options { servers, programs, call_timeout, version } = options;
        let board = Arc::new(Board::new(servers.iter().map(|server| server.name.clone())));
        let keeper = |server: ServerOptions| {
            let is_local = matches!(server.address, Address::Program(_));
            Keeper {
                name: server.name.into(),
                address: Arc::new(server.address),
                board: board.clone(),
                programs: programs.clone(),
                rules: OfferRules { call_timeout, is_trusted: server.is_trusted, is_local },
                version: version.clone(),
                people: People::Absent,
            }
        };
        let waiting = servers.into_iter().map(keeper).collect();
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let keepers = Mutex::new(Keepers { waiting, running: JoinSet::new() });
        Self { board, shutdown, trigger, keepers }
    }

    /// Lets servers ask the people whose turns call their tools. Counts for those that are started later.
    pub fn ask_people(&self) {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.waiting.iter_mut().for_each(|keeper| keeper.people = People::Present);
    }

    /// Starts the servers in the background, unless already done. Needs a runtime; returns at once.
    pub fn start(&self) {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = std::mem::take(&mut keepers.waiting);
        self.board.begin();
        for keeper in waiting {
            keepers.running.spawn(keeper.run(self.shutdown.clone()));
        }
    }

    /// Returns the source of their tools.
    pub fn source(&self) -> Arc<dyn ToolSource> {
        self.board.clone()
    }

    /// Returns the tools of each server that has any, and a number that changes with them.
    pub fn tools_by_server(&self) -> (u64, ToolsByServer) {
        self.board.tools_by_server()
    }

    /// Returns the state of each server, by name.
    pub fn states(&self) -> Vec<(String, ServerState)> {
        self.board.states()
    }

    /// Returns the faults of single tools, by server.
    pub fn remarks(&self) -> BTreeMap<String, Vec<String>> {
        self.board.remarks()
    }

    /// Starts the servers and waits until each is connected or failing.
    pub async fn settled(&self) {
        self.start();
        self.board.settled().await;
    }

    /// Ends all servers. Those that do not end within some seconds are killed.
    pub async fn stop(&self) {
        self.trigger.trigger();
        let mut running = {
            let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
            keepers.waiting.clear();
            std::mem::take(&mut keepers.running)
        };
        let all = async { while running.join_next().await.is_some() {} };
        if timeout(ENDING, all).await.is_err() {
            tracing::warn!("MCP servers did not end in time and are killed");
        }
    }
}
