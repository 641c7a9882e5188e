//! The gateway: one session, kept alive by heartbeats and resumed after every disconnect, even across restarts.
//!
//! An event is passed to the intake, and only then is its sequence number stored with the session. A resume continues
//! after that number, so Discord resends whatever was not processed; the storage recognises duplicates by their id.
//! Only if Discord rejects the session does a new one start, and then the chats are searched for missed messages.

use aethon_core::shutdown::Shutdown;
use std::time::Duration;

use aethon_core::error::Result as CoreResult;
use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::platform::{Discord, Interaction};
use super::{command, edits, history, inbound};
use crate::socket::{Ended, Socket};
use crate::talk::{self, Intake, OrderedFutures, Press, ReceiveLoop, Receiver, Stop};

/// Messages in servers and private messages. They include the content of messages addressed to us.
const INTENTS: u64 = 1 << 9 | 1 << 12;
/// The content of all other messages: privileged.
const CONTENT: u64 = 1 << 15;
/// How long the first message may take.
const HELLO: Duration = Duration::from_secs(20);
/// Longer than the longest heartbeat interval.
const SILENCE: Duration = Duration::from_secs(180);
/// How many events wait to be processed. Further ones stay unread on the socket.
const MAX_WAITING: usize = 500;
/// How many responses to button presses may be in progress.
const MAX_ANSWERS: usize = 50;
/// How many new sessions a day are kept in reserve. Discord resets the token of a bot that starts too many.
const SPARE_SESSIONS: u64 = 20;
/// A close code that keeps the session resumable. 1000 and 1001 would end it.
const CLOSE_RESUMABLE: u16 = 4000;
/// How often the session's address may fail before the default one is tried.
const MAX_MISSES: u32 = 3;
/// Where the session is stored.
const SESSION: &str = "session";

/// A session, and how far its events were processed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Session {
    id: String,
    /// The address for resuming it.
    url: String,
    seq: u64,
    /// Whether chats must still be searched for messages from before the session.
    is_behind: bool,
}

/// Receives events for our bot.
pub(super) struct Gateway<'d> {
    discord: &'d Discord,
    us: Option<(String, String)>,
    session: Option<Session>,
    is_loaded: bool,
    /// How often in a row the session's address failed.
    misses: u32,
    /// The open socket, to be closed so that the session stays resumable.
    socket: Option<Socket>,
}

/// The result of processing an event.
struct Taken {
    seq: u64,
    /// Whether it is worth storing.
    is_kept: bool,
    /// Whether everything from before the session has now been processed.
    is_caught_up: bool,
    result: Result<(), Stop>,
}

impl<'d> Gateway<'d> {
    pub(super) fn new(discord: &'d Discord) -> Self {
        Self { discord, us: None, session: None, is_loaded: false, misses: 0, socket: None }
    }

    /// Disconnects so that the session can be resumed.
    pub(super) async fn leave(mut self) {
        if let Some(socket) = self.socket.take() {
            socket.close(CLOSE_RESUMABLE).await;
        }
    }

    /// Returns the address to connect to: that of the session, or of a new one, if today's limit allows it.
    async fn address(&mut self) -> Result<String, Stop> {
        let base = match &self.session {
            Some(session) if self.misses < MAX_MISSES => session.url.clone(),
            session => {
                let is_new = session.is_none();
                let told = self.discord.api().get("/gateway/bot").await?;
                let limit = &told["session_start_limit"];
                if is_new && limit["remaining"].as_u64().is_some_and(|left| left < SPARE_SESSIONS) {
                    let after = limit["reset_after"].as_u64().map(Duration::from_millis);
                    let message = "Discord allows hardly any new session today; waiting".to_owned();
                    return Err(Stop::Again { message, after });
                }
                let url = told["url"].as_str().map(str::to_owned);
                url.ok_or_else(|| Stop::again("Discord names no gateway"))?
            }
        };
        Ok(format!("{}/?v=10&encoding=json", base.trim_end_matches('/')))
    }

    /// Opens the socket, waits for Hello and identifies us. Returns the heartbeat interval.
    async fn open(&mut self) -> Result<Duration, Stop> {
        let address = self.address().await?;
        let opened = Socket::open(self.discord.dial(), &address, self.discord.api().base()).await;
        let socket = self.socket.insert(opened.map_err(broken)?);
        let hello = timeout(HELLO, socket.next(HELLO)).await;
        let hello = hello.map_err(|_| Stop::outage("Discord does not greet on the gateway"))?;
        let hello = hello.map_err(broken)?;
        let interval = hello["d"]["heartbeat_interval"].as_u64().filter(|_| hello["op"] == 10);
        let interval = interval.ok_or_else(|| Stop::again("Discord does not greet on the gateway"))?;
        let token = self.discord.api().token().expose();
        let who = match &self.session {
            Some(session) => {
                json!({"op": 6, "d": {"token": token, "session_id": session.id, "seq": session.seq}})
            }
            None => json!({"op": 2, "d": {
                "token": token, "intents": INTENTS | if self.discord.wants_content() { CONTENT } else { 0 },
                "properties": {"os": std::env::consts::OS, "browser": "aethon", "device": "aethon"},
            }}),
        };
        socket.send(&who).await.map_err(broken)?;
        Ok(Duration::from_millis(interval.clamp(1000, 120_000)))
    }

    async fn forget(&mut self, intake: &Intake) -> Result<(), Stop> {
        self.session = None;
        intake.records().take("discord", SESSION).await?;
        Ok(())
    }

    /// Decides how a closed socket affects the session and the channel.
    async fn ended(&mut self, intake: &Intake, ended: Ended) -> Stop {
        let useless = |why: &str| Stop::Useless(format!("Discord ended the session: {why}"));
        let refused = |why: &str| Stop::Refused(format!("Discord ended the session: {why}"));
        match ended.code {
            Some(4004) => refused("it does not take the token (4004); set channels.discord.token"),
            Some(4013 | 4014) => refused(
                "an intent is not allowed (4014); switch on the message content intent in the developer portal, or set channels.discord.message_content = false",
            ),
            Some(code @ 4010..=4012) => useless(&format!("it will not take this version ({code})")),
            Some(4007 | 4009) => {
                if let Err(stop) = self.forget(intake).await {
                    return stop;
                }
                broken(ended)
            }
            _ => broken(ended),
        }
    }

    /// Opens a socket and returns what it starts with.
    async fn begin<'l>(&mut self, intake: &'l Intake) -> Result<Listening<'l>, Stop>
    where
        'd: 'l,
    {
        let (us, name) = match self.us.clone() {
            Some(us) => us,
            None => self.us.insert(self.discord.us().await?).clone(),
        };
        self.misses += 1;
        let interval = self.open().await?;
        self.misses = 0;
        Ok(Listening {
            discord: self.discord,
            intake,
            us,
            name,
            is_behind: self.session.as_ref().is_some_and(|session| session.is_behind),
            seq: self.session.as_ref().map(|session| session.seq),
            acknowledged: true,
            next_beat: Instant::now() + interval.mul_f64(jitter()),
            interval,
            work: OrderedFutures::new(),
            answers: FuturesUnordered::new(),
        })
    }

    /// Notes how far the session was processed.
    async fn note(&mut self, intake: &Intake, taken: Taken) -> Result<(), Stop> {
        taken.result?;
        intake.health().runs(None);
        if let Some(session) = &mut self.session {
            session.seq = taken.seq;
            session.is_behind &= !taken.is_caught_up;
            if taken.is_kept {
                store(intake, session).await?;
            }
        }
        Ok(())
    }

    /// Waits before a socket that Discord wants to be a new one.
    async fn begin_anew(&mut self, intake: &Intake, may_resume: bool) -> Result<(), Stop> {
        let is_new = self.session.is_none();
        if !may_resume {
            self.forget(intake).await?;
        }
        // If a new session is refused at once, this is a failure, retried with growing pauses.
        if is_new {
            return Err(Stop::again("Discord does not begin a session"));
        }
        sleep(Duration::from_secs(1).mul_f64(1.0 + 4.0 * jitter())).await;
        Ok(())
    }
}

#[async_trait]
impl ReceiveLoop for Gateway<'_> {
    async fn round(&mut self, intake: &Intake) -> Result<(), Stop> {
        if self.discord.api().token().is_empty() {
            return Err(Stop::Useless("channels.discord.token is empty".into()));
        }
        if let Some(socket) = self.socket.take() {
            socket.close(CLOSE_RESUMABLE).await;
        }
        if !self.is_loaded {
            let stored = intake.records().get("discord", SESSION).await?;
            self.session = stored.and_then(|stored| serde_json::from_str(&stored).ok());
            self.is_loaded = true;
        }
        let mut listening = self.begin(intake).await?;
        loop {
            let Some(socket) = &mut self.socket else { return Ok(()) };
            match listening.step(socket).await {
                Ok(Step::Nothing) => {}
                Ok(Step::Begun(session)) => {
                    store(intake, &session).await?;
                    self.session = Some(session);
                }
                Ok(Step::Taken(taken)) => {
                    self.note(intake, taken).await?;
                }
                Ok(Step::Reconnect) => {
                    sleep(Duration::from_secs(1)).await;
                    return Ok(());
                }
                Ok(Step::Invalid { may_resume }) => {
                    return self.begin_anew(intake, may_resume).await;
                }
                Err(Broken::Stop(stop)) => return Err(stop),
                Err(Broken::Socket(ended)) => return Err(self.ended(intake, ended).await),
            }
        }
    }
}

/// The result of listening for a moment.
enum Step {
    Nothing,
    /// A new session started.
    Begun(Session),
    /// An event was processed.
    Taken(Taken),
    /// Discord asks us to reconnect.
    Reconnect,
    /// Discord rejects the session.
    Invalid {
        may_resume: bool,
    },
}

enum Broken {
    Stop(Stop),
    Socket(Ended),
}

impl From<Ended> for Broken {
    fn from(ended: Ended) -> Self {
        Self::Socket(ended)
    }
}

/// The state of one socket.
struct Listening<'l> {
    discord: &'l Discord,
    intake: &'l Intake,
    us: String,
    name: String,
    is_behind: bool,
    /// The sequence number of the last event received.
    seq: Option<u64>,
    acknowledged: bool,
    next_beat: Instant,
    interval: Duration,
    work: OrderedFutures<'l, Taken>,
    answers: FuturesUnordered<BoxFuture<'l, ()>>,
}

impl<'l> Listening<'l> {
    async fn step(&mut self, socket: &mut Socket) -> Result<Step, Broken> {
        tokio::select! {
            taken = self.work.next() => Ok(Step::Taken(taken)),
            Some(()) = self.answers.next() => Ok(Step::Nothing),
            () = sleep_until(self.next_beat) => {
                if !std::mem::take(&mut self.acknowledged) {
                    return Err(Broken::Stop(Stop::outage("Discord has gone quiet")));
                }
                self.next_beat = Instant::now() + self.interval;
                let seq = self.seq;
                socket.send(&json!({"op": 1, "d": seq})).await?;
                Ok(Step::Nothing)
            }
            heard = socket.next(SILENCE), if self.work.len() < MAX_WAITING => {
                let heard = heard?;
                self.hear(&heard, socket).await
            }
        }
    }

    async fn hear(&mut self, heard: &Value, socket: &mut Socket) -> Result<Step, Broken> {
        match heard["op"].as_u64() {
            Some(0) => Ok(self.event(heard)),
            Some(1) => {
                let seq = self.seq;
                socket.send(&json!({"op": 1, "d": seq})).await?;
                Ok(Step::Nothing)
            }
            Some(7) => Ok(Step::Reconnect),
            Some(9) => Ok(Step::Invalid { may_resume: heard["d"] == true }),
            Some(11) => {
                self.acknowledged = true;
                Ok(Step::Nothing)
            }
            _ => Ok(Step::Nothing),
        }
    }

    fn event(&mut self, heard: &Value) -> Step {
        let Some(seq) = heard["s"].as_u64() else { return Step::Nothing };
        self.seq = Some(seq);
        let (kind, event) = (heard["t"].as_str().unwrap_or_default(), &heard["d"]);
        tracing::debug!(channel = "discord", kind, seq, "an event came");
        let (intake, discord) = (self.intake, self.discord);
        match kind {
            "READY" => return self.ready(event, seq),
            "RESUMED" => {
                tracing::info!(channel = "discord", "the session was resumed");
                intake.health().runs(Some(&self.name));
                if self.is_behind {
                    self.catch_up(seq);
                    return Step::Nothing;
                }
            }
            "MESSAGE_UPDATE" => {
                let edit = edits::arrival(event, &self.us);
                self.push(seq, true, async move {
                    match edit {
                        Some(edit) => intake.arrive(edit).await,
                        None => Ok(()),
                    }
                });
                return Step::Nothing;
            }
            "MESSAGE_CREATE" => {
                let arrival = inbound::arrival(event, &self.us, event["guild_id"].is_null());
                let (event, us) = (event.clone(), self.us.clone());
                self.push(seq, true, async move {
                    match arrival {
                        Some(arrival) => history::arrive(discord, intake, (&event, &us), arrival).await,
                        None => Ok(()),
                    }
                });
                return Step::Nothing;
            }
            "INTERACTION_CREATE" if event["type"] == 3 => self.press(event),
            "INTERACTION_CREATE" if event["type"] == 2 => {
                let arrival = inbound::command(event, intake.now());
                let interaction = Interaction::read(event);
                self.push(seq, true, async move {
                    match (arrival, interaction) {
                        (Some(arrival), Some(interaction)) => {
                            command::obey(discord, intake, &interaction, arrival).await
                        }
                        _ => Ok(()),
                    }
                });
                return Step::Nothing;
            }
            _ => {}
        }
        self.push(seq, false, async { Ok(()) });
        Step::Nothing
    }

    fn ready(&mut self, event: &Value, seq: u64) -> Step {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (discord, intake) = (self.discord, self.intake);
        tracing::info!(channel = "discord", account = self.name, "the channel runs");
        intake.health().runs(Some(&self.name));
        let application = event["application"]["id"].clone();
        self.answers.push(Box::pin(async move { discord.register(intake, &application).await }));
        self.catch_up(seq);
        let (id, url) = (text(&event["session_id"]), text(&event["resume_gateway_url"]));
        Step::Begun(Session { id, url, seq, is_behind: true })
    }

    /// Processes messages from before the session, ahead of its own events.
    fn catch_up(&mut self, seq: u64) {
        let (discord, intake, us) = (self.discord, self.intake, self.us.clone());
        self.work.push(async move {
            let result = history::catch_up(discord, intake, &us).await;
            Taken { seq, is_kept: true, is_caught_up: true, result }
        });
    }

    fn push(&mut self, seq: u64, is_kept: bool, take: impl Future<Output = CoreResult<()>> + Send + 'l) {
        self.work.push(async move {
            Taken { seq, is_kept, is_caught_up: false, result: take.await.map_err(Stop::from) }
        });
    }

    /// Handles a button press. Only the person who pressed it sees the result.
    fn press(&mut self, event: &Value) {
        let chat = inbound::id(&event["channel_id"]).unwrap_or_default();
        let data = event["data"]["custom_id"].as_str().unwrap_or_default().to_owned();
        let Some(sender) = inbound::who(event) else { return };
        let press = Press { data, sender, chat };
        let (discord, interaction) = (self.discord, Interaction::read(event));
        let (intake, is_told) = (self.intake, self.answers.len() < MAX_ANSWERS);
        self.answers.push(Box::pin(async move {
            let told = intake.press(&press).await;
            if let Some(interaction) = interaction.filter(|_| is_told) {
                discord.answer(&interaction, told).await;
            }
        }));
    }
}

async fn store(intake: &Intake, session: &Session) -> Result<(), Stop> {
    let stored = serde_json::to_string(session).map_err(|error| Stop::again(error.to_string()))?;
    intake.records().put("discord", SESSION, &stored, None).await?;
    Ok(())
}

fn broken(ended: Ended) -> Stop {
    Stop::outage(format!("Discord's gateway: {}", ended.message))
}

/// Returns a number between 0 and 1, so that many bots that start together do not all send heartbeats at once.
fn jitter() -> f64 {
    let mut byte = [0; 1];
    // Without randomness, the first heartbeat is sent after half the interval, which works as well.
    let _ = SystemRandom::new().fill(&mut byte).map_err(|_| byte[0] = 127);
    f64::from(byte[0]) / 255.0
}

#[async_trait]
impl Receiver for Discord {
    async fn receive(&self, intake: &Intake, shutdown: Shutdown) -> aethon_core::error::Result<()> {
        let mut gateway = Gateway::new(self);
        let ended = talk::receive(&mut gateway, intake, shutdown).await;
        gateway.leave().await;
        ended
    }
}
