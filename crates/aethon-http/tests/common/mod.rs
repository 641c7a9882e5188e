//! A server of its own for each test, on a free port, with fakes behind it, and a client that speaks in raw bytes, so
//! that it can say what no HTTP library would.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::approval::PendingApprovals;
use aethon_core::channel::{Channel, Channels};
use aethon_core::clock::SystemClock;
use aethon_core::event::EventBus;
use aethon_core::log::LogBook;
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::testkit::{MemoryLedger, MemoryStore, NoWorkflows};
use aethon_http::deps::{Activity, Chat, Runtime, Setup, Workflows};
use aethon_http::options::Listen;
use aethon_http::ws::{Hub, WebChat};
use aethon_http::{Deps, Options, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::fakes::{FakeAssistant, FakeConfig, FakeProvider};

/// No test waits longer for anything.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) assistant: Arc<FakeAssistant>,
    pub(crate) stop: ShutdownTrigger,
    pub(crate) served: JoinHandle<()>,
}

/// Returns the dependencies of the server, with fakes.
pub(crate) fn deps(assistant: &Arc<FakeAssistant>, shutdown: aethon_core::shutdown::Shutdown) -> Deps {
    let hub = Arc::new(Hub::new(Arc::new(SystemClock)));
    let webchat = WebChat::new(assistant.clone(), Arc::clone(&hub));
    Deps {
        chat: Chat {
            transcriber: None,
            assistant: assistant.clone(),
            transcripts: assistant.transcripts.clone(),
            history: Arc::new(aethon_core::history::NoHistory),
            uploads: Arc::new(aethon_core::upload::NoUploads),
            files: Arc::new(aethon_core::file_changes::NoFileHistory),
            approvals: PendingApprovals::default(),
            choices: Arc::new(aethon_core::model_choice::NoChoices),
            hub,
            commands: Arc::new(aethon_core::background::NoBackgroundCommands::default()),
            bin_days: 7,
        },
        activity: Activity {
            bus: EventBus::default(),
            logs: LogBook::default(),
            ledger: Arc::new(MemoryLedger::new(Arc::new(SystemClock))),
            audit: Arc::new(aethon_core::audit::NoAudit),
            agents: Default::default(),
            telemetry: Arc::new(MemoryStore::default()),
            outbox: Arc::new(MemoryStore::default()),
            trail: aethon_core::audit::AuditTrail::new().0,
        },
        workflows: Workflows {
            sops: Arc::new(NoWorkflows),
            prompts: Arc::new(NoWorkflows),
            sop_runs: Arc::new(MemoryStore::default()),
            sop_runner: Arc::new(NoWorkflows),
            schedule: Arc::new(NoWorkflows),
            work: Arc::new(NoWorkflows),
        },
        knowledge: Default::default(),
        setup: Setup {
            first_model: None,
            channel_setup: Arc::new(aethon_core::channel_setup::NoChannelSetup),
            config: Arc::new(FakeConfig),
            provider: Arc::new(FakeProvider::default()),
            messengers: &["telegram", "email"],
            pairings: Arc::new(aethon_core::pairing::NoPairings),
            reach: Default::default(),
            features: Default::default(),
            backups: None,
            push: None,
            channels: Channels::new([Arc::new(webchat) as Arc<dyn Channel>]).unwrap(),
        },
        runtime: Runtime {
            clock: Arc::new(SystemClock),
            health: Default::default(),
            shutdown,
            instances: Default::default(),
        },
    }
}

/// Starts a server on a free port of the loopback address.
pub(crate) async fn start(options: Options) -> Running {
    let assistant = Arc::new(FakeAssistant::default());
    let (stop, shutdown) = ShutdownTrigger::pair();
    let listen = Listen { port: Some(0), ..Listen::default() };
    let options = Options { listen, ..options };
    let server = Server::bind(options, deps(&assistant, shutdown.clone())).await.expect("a free port");
    let address = server.local_addr().expect("it has a port");
    Running { address, assistant, stop, served: tokio::spawn(server.serve(shutdown)) }
}

impl Running {
    /// Opens a connection to the server.
    pub(crate) async fn connect(&self) -> Client {
        Client { stream: TcpStream::connect(self.address).await.expect("it listens"), read: Vec::new() }
    }

    /// Sends one request on a new connection and returns its answer.
    pub(crate) async fn ask(&self, request: &str) -> Received {
        let mut client = self.connect().await;
        client.send(request).await;
        client.answer().await
    }

    /// Stops it and waits until it has ended.
    pub(crate) async fn stopped(self) {
        self.stop.trigger();
        within(self.served).await.expect("it ends without a panic");
    }
}

/// A connection, spoken to in bytes.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    read: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Received {
    /// Returns the code of a problem, which must be whole.
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        assert!(self.header("x-request-id").is_some() && self.header("content-security-policy").is_some());
        let problem: serde_json::Value = serde_json::from_str(&self.body).expect("JSON");
        assert_eq!(problem["status"], self.status);
        problem["code"].as_str().expect("a code").to_owned()
    }

    /// Returns a header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Client {
    /// Sends bytes.
    pub(crate) async fn send(&mut self, bytes: &str) {
        within(self.stream.write_all(bytes.as_bytes())).await.expect("it listens");
    }

    /// Reads one answer, with its body.
    pub(crate) async fn answer(&mut self) -> Received {
        let mut answer = self.head().await;
        let length: usize =
            answer.header("content-length").map_or(0, |length| length.parse().expect("a number"));
        while self.read.len() < length {
            assert!(self.more().await > 0, "the body of {answer:?} is cut off");
        }
        answer.body = String::from_utf8(self.read.drain(..length).collect()).expect("text");
        answer
    }

    /// Reads one answer's head only.
    pub(crate) async fn head(&mut self) -> Received {
        loop {
            if let Some(end) = self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                let head: Vec<u8> = self.read.drain(..end + 4).collect();
                let head = String::from_utf8(head).expect("text");
                let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
                return Received { status, head, body: String::new() };
            }
            assert!(self.more().await > 0, "closed before an answer; so far: {:?}", self.read);
        }
    }

    /// Returns whether the server closes the connection without sending any more.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.read.is_empty() && self.more().await == 0
    }

    async fn more(&mut self) -> usize {
        // A reset is an end as well.
        within(self.stream.read_buf(&mut self.read)).await.unwrap_or(0)
    }
}

/// Waits for a future, with a time limit.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future).await.expect("it does not take that long")
}

/// Returns a POST of JSON to this path.
pub(crate) fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns a GET of this path.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}
