//! Socket Mode: what arrives is passed to the intake and acknowledged only afterwards.
//!
//! Slack resends unacknowledged events, and this is also the only way that events arrive from times without a
//! socket. So a resent event is treated like any other; the storage recognises those it has. While an event is
//! processed, the socket is still read, because Slack expects its pings to be answered. When Slack asks for a new
//! socket, it is opened before the old one is closed.

use aethon_core::shutdown::Shutdown;
use std::time::Duration;

use aethon_core::error::Result as CoreResult;
use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::time::{interval, sleep, timeout};

use super::account::Account;
use super::api::Token;
use super::edits;
use super::platform::Slack;
use super::{inbound, thread};
use crate::socket::{Ended, Socket};
use crate::talk::{self, Arrival, Intake, OrderedFutures, Press, ReceiveLoop, Receiver, Sender, Stop};

/// How long the first message may take.
const HELLO: Duration = Duration::from_secs(20);
/// The interval between pings.
const PING: Duration = Duration::from_secs(30);
/// How long nothing may be received, not even a pong.
const SILENCE: Duration = Duration::from_secs(75);
/// How many envelopes wait to be processed. Further ones stay unread on the socket.
const MAX_WAITING: usize = 200;
/// How many responses to button presses may be in progress. Further presses count but get no response.
const MAX_ANSWERS: usize = 50;
/// The pauses before retrying what could not be stored. After that, Slack resends it.
const PAUSES: [u64; 4] = [1, 2, 4, 8];
/// How long an old socket is kept to acknowledge events that are still being processed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause when there are too many sockets.
const TOO_MANY_SOCKETS_PAUSE: Duration = Duration::from_secs(60);
/// The close code for a normal end.
const NORMAL: u16 = 1000;

/// Receives events for our app in a workspace.
pub(super) struct Sockets<'s> {
    slack: &'s Slack,
    account: Option<Account>,
}

/// The result of processing an envelope.
struct Taken {
    envelope: String,
    result: CoreResult<()>,
}

impl<'s> Sockets<'s> {
    pub(super) fn new(slack: &'s Slack) -> Self {
        Self { slack, account: None }
    }

    /// Opens a socket and waits until it is ready.
    async fn open(&self) -> Result<Socket, Stop> {
        let told = self.slack.api().post("apps.connections.open", Token::App, &json!({})).await?;
        let Some(address) = told["url"].as_str() else {
            return Err(Stop::again("apps.connections.open: Slack names no socket"));
        };
        let mut socket =
            Socket::open(self.slack.dial(), address, self.slack.api().base()).await.map_err(broken)?;
        let first = timeout(HELLO, socket.next(HELLO)).await;
        let first = first.map_err(|_| Stop::outage("Slack does not greet on the socket"))?.map_err(broken)?;
        match first["type"].as_str() {
            Some("hello") => Ok(socket),
            Some("disconnect") => Err(refused(&first)),
            _ => Err(Stop::again("Slack does not greet on the socket")),
        }
    }
}

#[async_trait]
impl ReceiveLoop for Sockets<'_> {
    async fn round(&mut self, intake: &Intake) -> Result<(), Stop> {
        if let Some(token) = self.slack.api().missing() {
            return Err(Stop::Useless(format!("{} is empty", token.key())));
        }
        let account = match self.account.clone() {
            Some(account) => account,
            None => self.account.insert(Slack::identify(self.slack).await?).clone(),
        };
        let socket = self.open().await?;
        tracing::info!(channel = "slack", account = account.shown, "the channel runs");
        intake.health().runs(Some(&account.shown));
        let mut connection = Connection {
            slack: self.slack,
            intake,
            us: account.user,
            work: OrderedFutures::new(),
            answers: FuturesUnordered::new(),
        };
        connection.listen(self, socket).await
    }
}

/// The state of one socket.
struct Connection<'c> {
    slack: &'c Slack,
    intake: &'c Intake,
    us: String,
    work: OrderedFutures<'c, Taken>,
    answers: FuturesUnordered<BoxFuture<'c, ()>>,
}

impl Connection<'_> {
    async fn listen(&mut self, sockets: &Sockets<'_>, mut socket: Socket) -> Result<(), Stop> {
        let mut ping = interval(PING);
        loop {
            tokio::select! {
                taken = self.work.next() => settle(self.intake, taken, &mut socket).await?,
                Some(()) = self.answers.next() => {}
                _ = ping.tick() => socket.ping().await.map_err(broken)?,
                heard = socket.next(SILENCE), if self.work.len() < MAX_WAITING => {
                    let heard = heard.map_err(broken)?;
                    match heard["type"].as_str() {
                        Some("disconnect") if is_refresh(&heard) => {
                            let next = sockets.open().await?;
                            self.leave(socket).await;
                            socket = next;
                            tracing::debug!(channel = "slack", "the socket was renewed");
                        }
                        Some("disconnect") => return Err(refused(&heard)),
                        _ => self.take(&heard, &mut socket).await?,
                    }
                }
            }
        }
    }

    /// Processes an envelope, or queues it behind others.
    async fn take(&mut self, heard: &Value, socket: &mut Socket) -> Result<(), Stop> {
        let Some(envelope) = heard["envelope_id"].as_str().map(str::to_owned) else { return Ok(()) };
        let (intake, payload) = (self.intake, &heard["payload"]);
        let arrival = match heard["type"].as_str() {
            Some("events_api") => edits::arrival(&payload["event"], &self.us),
            Some("slash_commands") => inbound::command(payload, intake.now()),
            Some("interactive") => {
                // A press is handled here and useless later, so it is acknowledged at once.
                confirm(socket, &envelope).await?;
                self.press(payload);
                return Ok(());
            }
            _ => None,
        };
        if let Some(arrival) = arrival.as_ref().filter(|arrival| arrival.is_private)
            && let Some(thread) = inbound::thread_of(&payload["event"])
        {
            self.slack.streams.heard(&arrival.id, thread);
        }
        tracing::debug!(channel = "slack", kind = heard["type"].as_str(), "an envelope came");
        let (slack, event, us) = (self.slack, payload["event"].clone(), self.us.clone());
        self.work.push(async move {
            let Some(arrival) = arrival else { return Taken { envelope, result: Ok(()) } };
            let mut result = arrive(slack, intake, (&event, &us), arrival.clone()).await;
            for pause in PAUSES {
                if result.is_ok() {
                    break;
                }
                sleep(Duration::from_secs(pause)).await;
                result = arrive(slack, intake, (&event, &us), arrival.clone()).await;
            }
            Taken { envelope, result }
        });
        Ok(())
    }

    /// Handles a button press. Only the person who pressed it sees the result.
    fn press(&mut self, payload: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let Some(action) = payload["actions"].as_array().and_then(|actions| actions.first()) else { return };
        let chat = inbound::chat_of(payload);
        let sender = Sender { id: text(&payload["user"]["id"]), name: None, group: None };
        let press = Press { data: text(&action["value"]), sender, chat: chat.clone() };
        let (slack, intake, is_told) = (self.slack, self.intake, self.answers.len() < MAX_ANSWERS);
        self.answers.push(Box::pin(async move {
            let told = intake.press(&press).await;
            if is_told {
                slack.whisper(chat, press.sender.id, told).await;
            }
        }));
    }

    /// Acknowledges on an old socket the events that are still being processed, then closes it.
    async fn leave(&mut self, mut socket: Socket) {
        let confirmed = timeout(DRAIN_TIMEOUT, async {
            while self.work.len() > 0 {
                let taken = self.work.next().await;
                settle(self.intake, taken, &mut socket).await?;
            }
            Ok::<_, Stop>(())
        });
        // Slack resends unacknowledged events on the new socket.
        if !matches!(confirmed.await, Ok(Ok(()))) {
            tracing::debug!(channel = "slack", "not everything could be confirmed on the old socket");
        }
        socket.close(NORMAL).await;
    }
}

/// Passes a message to the intake, with what its thread says.
async fn arrive(
    slack: &Slack,
    intake: &Intake,
    (event, us): (&Value, &str),
    arrival: Arrival,
) -> CoreResult<()> {
    let (arrival, thread) = thread::completed(slack, intake, (event, us), arrival).await?;
    intake.arrive(arrival).await?;
    match thread {
        Some(thread) => thread.store(intake).await,
        None => Ok(()),
    }
}

/// Acknowledges stored events. Slack resends the others.
async fn settle(intake: &Intake, taken: Taken, socket: &mut Socket) -> Result<(), Stop> {
    match taken.result {
        Ok(()) => {
            intake.health().runs(None);
            confirm(socket, &taken.envelope).await
        }
        Err(error) => {
            let message = format!("a message could not be accepted: {error}");
            if intake.health().fails(&message) {
                tracing::warn!(channel = "slack", message, "Slack is left to send it again");
            }
            Ok(())
        }
    }
}

async fn confirm(socket: &mut Socket, envelope: &str) -> Result<(), Stop> {
    socket.send(&json!({"envelope_id": envelope})).await.map_err(broken)
}

/// Returns whether Slack only wants us to use another socket.
fn is_refresh(heard: &Value) -> bool {
    matches!(heard["reason"].as_str(), Some("warning" | "refresh_requested"))
}

fn refused(heard: &Value) -> Stop {
    match heard["reason"].as_str() {
        Some("link_disabled") => Stop::Again {
            message: "Socket Mode is switched off for the app; switch it on in the app's settings".into(),
            after: Some(TOO_MANY_SOCKETS_PAUSE),
        },
        Some("too_many_websockets") => Stop::Again {
            message: "the app has too many sockets; another program uses channels.slack.app_token".into(),
            after: Some(TOO_MANY_SOCKETS_PAUSE),
        },
        reason => Stop::again(format!("Slack ended the socket ({})", reason.unwrap_or("no reason"))),
    }
}

fn broken(ended: Ended) -> Stop {
    Stop::outage(format!("Slack's socket: {}", ended.message))
}

#[async_trait]
impl Receiver for Slack {
    async fn receive(&self, intake: &Intake, shutdown: Shutdown) -> aethon_core::error::Result<()> {
        talk::receive(&mut Sockets::new(self), intake, shutdown).await
    }
}
