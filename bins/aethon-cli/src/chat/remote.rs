//! A chat with the running daemon, which outlives its connections.
//!
//! The daemon may be stopped and started again, or killed; the terminal then connects again by itself, with longer and longer
//! pauses. On every new connection it first sends unacknowledged messages again, under the same ids, so that each message
//! runs once; then it reads the stored messages, and asks for the frames after them. Turns are reported by their ids: those
//! that this terminal started as they progress, those of others when they are over.

use std::collections::VecDeque;
use std::time::Duration;

use aethon::core::approval;
use aethon::core::ids::unique;
use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};

use super::backend::{Backend, Earlier, FilesWish, OutgoingMessage, Request};
use super::catch_up::{Away, MISSED, Missed, catch_up};
use super::event::{BackendEvent, ChatEvent, OthersTurn, Outcome};
use super::named_file::NamedFile;
use super::reconnect::Reconnect;
use super::shown_turns::ShownTurns;
use super::socket::{Broken, Socket};
use super::transcript::{Transcript, Turn, Wanted};
use super::unsent::{AckOutcome, Unsent};
use super::words::{is_temporary, model_named};
use crate::daemon::{Daemon, Finder, encoded};

/// How long connecting and catching up may take.
const ATTACHING: Duration = Duration::from_secs(30);

/// How long a look into the transcript may take.
const LOOKING: Duration = Duration::from_secs(10);

const MORE: &str =
    "some messages of this conversation are not shown here; the chat in a browser has all of them";

/// How many messages are read for a single turn.
pub(super) const ONE_TURN: usize = 20;

/// How long no frame arrives while an own turn is open before the transcript is read. Another program that took the turn
/// over after a crash sends no frame here at its end.
const QUIET: Duration = Duration::from_secs(5);

/// How long a program waits for a daemon that went away.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The audience of the reported turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// A person, who also wants to see the messages of others in the session.
    Person,
    /// A program, or a single question: only its own turn matters.
    Program,
}

/// A chat with the running daemon.
pub(super) struct Remote {
    finder: Finder,
    pub(super) daemon: Daemon,
    model: String,
    pub(super) session: String,
    socket: Option<Socket>,
    audience: Audience,
    reconnect: Reconnect,
    unsent: Unsent,
    /// When to look into the transcript for a turn without new frames.
    look: Instant,
    /// Turns that this terminal asked for and that are not over.
    own: Vec<String>,
    /// The ended turns that were reported, and those still to report.
    told: ShownTurns,
    /// Turns to stop as soon as the daemon is reachable.
    to_stop: Vec<String>,
    queue: VecDeque<BackendEvent>,
}

impl Remote {
    /// Connects. Once connected, it comes back to a daemon that goes away: for a person as long as they stay, for a program
    /// as long as [`TIMEOUT`].
    pub(super) async fn connect(
        finder: Finder,
        daemon: Daemon,
        session: &str,
        audience: Audience,
    ) -> Result<Self, Broken> {
        let patience = (audience == Audience::Program).then_some(TIMEOUT);
        let status = daemon.get("/api/status".into()).await.map_err(Broken::of)?;
        let mut remote = Self {
            finder,
            daemon,
            model: model_named(status["model"].as_str().unwrap_or_default(), status["model_ready"] != false),
            session: session.to_owned(),
            socket: None,
            audience,
            reconnect: Reconnect::new(patience),
            unsent: Unsent::default(),
            look: Instant::now(),
            own: Vec::new(),
            told: ShownTurns::default(),
            to_stop: Vec::new(),
            queue: VecDeque::new(),
        };
        remote.open().await?;
        Ok(remote)
    }

    /// Opens a connection to a session in which this terminal has sent nothing yet.
    async fn open(&mut self) -> Result<(), Broken> {
        let opening = async {
            let socket = Socket::open(&self.daemon, &self.session).await?;
            let transcript = Transcript::fetch(&self.daemon, &self.session, 1).await.map_err(Broken::lost)?;
            Ok((socket, transcript))
        };
        let (socket, transcript) = within(ATTACHING, opening).await?;
        self.told.begin(transcript.map_or(0, |transcript| transcript.newest));
        self.socket = Some(socket);
        Ok(())
    }

    /// Connects again, and reports everything that was missed.
    async fn attach(&mut self) -> Result<(), Broken> {
        let daemon = self.finder.find().map_err(Broken::lost)?;
        self.daemon = daemon.ok_or_else(|| Broken::lost("no aethon-server runs on this home"))?;
        let Missed { socket, acknowledged, transcript, frames } = {
            let away = Away {
                daemon: &self.daemon,
                session: &self.session,
                unsent: &self.unsent,
                own: &self.own,
                behind: self.behind(),
            };
            within(ATTACHING, catch_up(away)).await?
        };
        for frame in &acknowledged {
            self.hear(frame);
        }
        let known: Vec<String> = self.own.clone();
        self.tell_stored(transcript.as_ref());
        for frame in &frames {
            self.hear(frame);
        }
        for turn in known.iter().filter(|_| transcript.is_none()) {
            let is_live = frames.iter().any(|frame| frame["turn"] == turn.as_str());
            if self.own.contains(turn) && !is_live {
                self.give_up(
                    turn,
                    "the answer cannot be shown: aethon-server keeps it, but shows no transcripts",
                );
            }
        }
        self.socket = Some(socket);
        for turn in std::mem::take(&mut self.to_stop) {
            self.send(&stop(&turn, &self.session.clone())).await;
        }
        Ok(())
    }

    /// Reports the stored turns that were not reported yet.
    fn tell_stored(&mut self, transcript: Option<&Transcript>) {
        let Some(transcript) = transcript else {
            let again = self.own.iter().map(|turn| BackendEvent::within(turn, ChatEvent::Again));
            self.queue.extend(again);
            return;
        };
        for turn in &transcript.turns {
            if self.own.iter().any(|own| own == turn.id())
                && let Some(ended) = transcript.ended(turn.id())
            {
                self.tell_others(transcript, Some(ended));
                self.tell_own(ended);
            }
        }
        self.tell_others(transcript, None);
        for turn in self.own.clone() {
            if transcript.pending.contains(&turn) {
                self.tell(&turn, ChatEvent::Again);
            } else {
                self.give_up(&turn, "the conversation was emptied before the answer came");
            }
        }
    }

    /// Reports the unreported turns of others up to this turn, or in all of the transcript.
    fn tell_others(&mut self, transcript: &Transcript, last: Option<&Turn>) {
        if self.audience != Audience::Person {
            return;
        }
        let own = &self.own;
        let untold = self.told.take_unseen(transcript, last, |turn| own.iter().any(|own| own == turn));
        if untold.is_cut {
            self.queue.push_back(BackendEvent::outside(ChatEvent::Connection(MORE.into())));
        }
        for other in untold.others {
            let turn = other.outcome.turn.clone();
            self.tell(&turn, ChatEvent::OthersTurn(other));
        }
    }

    /// Returns the message behind which the transcript is read for turns of others.
    fn behind(&self) -> Option<u64> {
        (self.audience == Audience::Person).then(|| self.told.through())
    }

    /// Handles a frame.
    fn hear(&mut self, frame: &Value) {
        let text = |key: &str| frame[key].as_str().unwrap_or_default().to_owned();
        let (kind, turn) = (text("type"), text("turn"));
        if kind == "ack" || (kind == "error" && turn.is_empty()) {
            match self.unsent.hear(frame, Instant::now()) {
                AckOutcome::Taken { is_withdrawn } => {
                    if is_withdrawn {
                        self.to_stop.push(turn.clone());
                    }
                    let event = ChatEvent::Accepted { queued: frame["queued"].as_u64().unwrap_or(0) };
                    self.queue.push_back(BackendEvent { turn: turn.clone(), event, frame: frame.clone() });
                    self.own.push(turn);
                }
                AckOutcome::Later => {}
                AckOutcome::Refused => {
                    let event = ChatEvent::Refused(text("message"));
                    self.queue.push_back(BackendEvent { turn, event, frame: frame.clone() });
                }
                AckOutcome::None if text("code") == "bad_edit" => {
                    let (id, why) = (text("id"), text("message"));
                    self.queue.push_back(BackendEvent::outside(ChatEvent::EditRefused { id, why }));
                }
                AckOutcome::None if kind == "error" && text("code") != "unknown_approval" => {
                    let event = ChatEvent::Notice(text("message"));
                    self.queue.push_back(BackendEvent { turn, event, frame: frame.clone() });
                }
                AckOutcome::None => {}
            }
        } else if kind == "switched" {
            if self.audience == Audience::Person {
                let words = "another version of a message was chosen; the conversation goes on from there";
                self.queue.push_back(BackendEvent::outside(ChatEvent::Connection(words.into())));
            }
        } else if self.own.contains(&turn) {
            if let Some(received) = BackendEvent::of(frame) {
                match received.event {
                    ChatEvent::Done(_) => self.finish(received),
                    _ => self.queue.push_back(received),
                }
            }
        } else if self.audience == Audience::Person && !turn.is_empty() && !self.told.has(&turn) {
            match BackendEvent::of(frame).map(|received| received.event) {
                Some(ChatEvent::Done(outcome)) => self.told.wait(outcome),
                Some(ChatEvent::Approval(request)) => {
                    let tool = request.tool;
                    let words = format!(
                        "another turn in this conversation waits for approval of {tool}; answer where the question appeared"
                    );
                    self.queue.push_back(BackendEvent::outside(ChatEvent::Connection(words)));
                }
                _ => {}
            }
        }
    }

    fn tell(&mut self, turn: &str, event: ChatEvent) {
        self.queue.push_back(BackendEvent::within(turn, event));
    }

    /// Reports the end of a turn, once.
    fn finish(&mut self, end: BackendEvent) {
        self.own.retain(|own| *own != end.turn);
        self.told.note(&end.turn);
        self.queue.push_back(end);
    }

    /// Ends a temporary conversation that is left. One whose server does not hear of it ends after an hour.
    async fn end_temporary(&self) {
        if is_temporary(&self.session) {
            let path = format!("/api/sessions/{}", encoded(&format!("webchat:{}", self.session)));
            let _ = timeout(LOOKING, self.daemon.delete(path)).await;
        }
    }

    fn give_up(&mut self, turn: &str, why: &str) {
        self.tell(turn, ChatEvent::Error(why.to_owned()));
        let outcome = Outcome { turn: turn.to_owned(), stop_reason: "error".into(), ..Outcome::default() };
        self.finish(BackendEvent::within(turn, ChatEvent::Done(outcome)));
    }

    /// Looks up a turn of another client in the transcript and reports it, after the earlier turns that were not reported.
    async fn look_up(&mut self, outcome: Outcome) -> Result<(), Broken> {
        let wanted = Wanted { behind: self.behind(), ..Wanted::default() };
        let looking = async {
            let read = Transcript::fetch_with(&self.daemon, &self.session, ONE_TURN, wanted);
            read.await.map_err(Broken::lost)
        };
        let transcript = within(LOOKING, looking).await?;
        self.told.looked_up();
        let found =
            transcript.as_ref().and_then(|transcript| Some((transcript, transcript.stored(&outcome.turn)?)));
        match found {
            // It may have been there before this terminal.
            Some((transcript, turn)) => self.tell_others(transcript, Some(turn)),
            // A message that no turn made, or whose question is unknown.
            None => {
                let turn = outcome.turn.clone();
                let event = ChatEvent::OthersTurn(OthersTurn { said: String::new(), outcome });
                self.finish(BackendEvent::within(&turn, event));
            }
        }
        Ok(())
    }

    /// Reports the ends of own turns that are stored and for which no frame arrived.
    async fn look_for_own(&mut self) {
        let wanted = Wanted { turns: &self.own, behind: None };
        let looking = Transcript::fetch_with(&self.daemon, &self.session, MISSED, wanted);
        let transcript = timeout(LOOKING, looking).await.ok().and_then(Result::ok).flatten();
        self.look = Instant::now() + QUIET;
        let Some(transcript) = transcript else { return };
        for id in self.own.clone() {
            if let Some(turn) = transcript.ended(&id) {
                self.tell_own(turn);
            }
        }
    }

    /// Reports an own turn that is over, as it is stored.
    fn tell_own(&mut self, turn: &Turn) {
        let id = turn.other.outcome.turn.clone();
        self.tell(&id, ChatEvent::Again);
        for notice in &turn.notices {
            self.tell(&id, ChatEvent::Notice(notice.clone()));
        }
        self.finish(BackendEvent::within(&id, ChatEvent::Done(turn.other.outcome.clone())));
    }

    /// Runs one step: a frame, a look into the transcript, or an attempt to connect.
    async fn step(&mut self) -> Result<(), Broken> {
        if self.socket.is_none() {
            sleep_until(self.reconnect.due()).await;
            if let Some(words) = self.reconnect.is_late(Instant::now()) {
                self.queue.push_back(BackendEvent::outside(ChatEvent::Connection(words)));
            }
            self.attach().await?;
            let words = self.reconnect.succeeded();
            self.queue.push_front(BackendEvent::outside(ChatEvent::Connection(words)));
            return Ok(());
        }
        // The turn of an unacknowledged message might be mistaken for another client's.
        if !self.unsent.is_under_way()
            && let Some(outcome) = self.told.waiting()
        {
            return self.look_up(outcome).await;
        }
        if let Some(socket) = &mut self.socket {
            let due = self.unsent.due();
            let later = |at: Option<Instant>| sleep_until(at.unwrap_or_else(Instant::now));
            tokio::select! {
                frame = socket.next() => {
                    self.look = Instant::now() + QUIET;
                    let frame = frame?;
                    self.hear(&frame);
                }
                () = later(due), if due.is_some() => {
                    for frame in self.unsent.take_due(Instant::now()) {
                        self.send(&frame).await;
                    }
                }
                () = sleep_until(self.look), if !self.own.is_empty() => self.look_for_own().await,
            }
        }
        if !self.to_stop.is_empty() {
            for turn in std::mem::take(&mut self.to_stop) {
                self.send(&stop(&turn, &self.session.clone())).await;
            }
        }
        Ok(())
    }

    /// Sends a frame; a connection that breaks is made again by [`Backend::next`].
    async fn send(&mut self, frame: &Value) {
        if let Some(socket) = &mut self.socket
            && let Err(broken) = socket.send(frame).await
        {
            self.lose(broken);
        }
    }

    /// Uploads files, which may be larger than a frame. Returns the attachments of their message.
    async fn uploaded(&self, files: &[NamedFile]) -> Result<Value> {
        let mut attachments = Vec::new();
        for file in files {
            let upload = self.daemon.upload(&file.name, file.mime, file.bytes.clone()).await;
            let upload = upload.with_context(|| format!("{} was not sent", file.name))?;
            attachments.push(json!({"upload": upload["id"]}));
        }
        Ok(attachments.into())
    }

    fn lose(&mut self, broken: Broken) {
        self.socket = None;
        let event = match broken {
            Broken::Refused(why) => Some(ChatEvent::Lost(why)),
            Broken::Lost(why) => self.reconnect.failed(Instant::now(), &why).map(ChatEvent::Lost),
        };
        self.queue.extend(event.map(BackendEvent::outside));
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, Broken>>) -> Result<T, Broken> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(Broken::lost("aethon-server does not answer")))
}

fn stop(turn: &str, session: &str) -> Value {
    json!({"type": "stop", "turn": turn, "session": session})
}

#[async_trait]
impl Backend for Remote {
    fn describe(&self) -> String {
        format!("{} by aethon-server at {}", self.model, self.daemon.base)
    }

    async fn enter(&mut self, session: &str) -> Result<()> {
        if let Some(mut socket) = self.socket.take() {
            socket.close().await;
        }
        if session != self.session {
            self.end_temporary().await;
        }
        self.session = session.to_owned();
        self.unsent.clear();
        self.own.clear();
        self.told.leave();
        self.queue.clear();
        match self.open().await {
            Ok(()) => Ok(()),
            Err(Broken::Refused(why)) => bail!("{why}"),
            Err(lost) => {
                self.lose(lost);
                Ok(())
            }
        }
    }

    async fn say(&mut self, message: &OutgoingMessage) -> Result<Option<String>> {
        let OutgoingMessage { text, effort, model, schema, files, earlier } = message;
        let id = unique();
        let mut frame = json!({"type": "message", "id": id, "session": self.session});
        match earlier {
            Some(Earlier::Retried(turn)) => (frame["type"], frame["turn"]) = ("retry".into(), json!(turn)),
            Some(Earlier::Replaced(turn)) => (frame["type"], frame["turn"]) = ("edit".into(), json!(turn)),
            None => {}
        }
        if !matches!(earlier, Some(Earlier::Retried(_))) {
            frame["text"] = text.as_str().into();
        }
        if !files.is_empty() {
            frame["attachments"] = self.uploaded(files).await?;
        }
        if let Some(effort) = effort {
            frame["effort"] = effort.as_str().into();
        }
        if let Some(model) = model {
            frame["model"] = model.as_str().into();
        }
        if let Some(schema) = schema {
            frame["schema"] = schema.as_json().clone();
        }
        if !self.unsent.add(id, frame.clone()) {
            bail!("aethon-server is away, and too many messages wait for it");
        }
        self.send(&frame).await;
        Ok(None)
    }

    async fn next(&mut self) -> BackendEvent {
        loop {
            if let Some(received) = self.queue.pop_front() {
                return received;
            }
            if let Err(broken) = self.step().await {
                self.lose(broken);
            }
        }
    }

    async fn tell(&mut self, request: Request) -> Result<()> {
        match request {
            Request::Stop(Some(turn)) if self.socket.is_none() => self.to_stop.push(turn),
            Request::Stop(Some(turn)) => self.send(&stop(&turn, &self.session.clone())).await,
            Request::Stop(None) if !self.unsent.is_empty() => {
                self.unsent.withdraw();
            }
            Request::Stop(None) => self.send(&json!({"type": "stop", "session": self.session})).await,
            Request::Decide { id, answer } => {
                let approval::Answer { decision, scope, input, is_unasked, .. } = answer;
                let mut frame = json!({"type": "approval", "id": id, "decision": decision, "scope": scope});
                if let Some(input) = input {
                    frame["input"] = input;
                }
                if is_unasked {
                    frame["unattended"] = json!(true);
                }
                self.send(&frame).await;
            }
            Request::Read => self.send(&json!({"type": "read", "session": self.session})).await,
        }
        Ok(())
    }

    async fn put_files(&mut self, wish: FilesWish) -> Result<Value> {
        let files = format!("/api/sessions/{}/file-changes", encoded(&format!("webchat:{}", self.session)));
        match wish {
            FilesWish::PutBack(turn) => {
                self.daemon.post(format!("{files}/undo"), &json!({"turn": turn})).await
            }
            FilesWish::Redo => self.daemon.post(format!("{files}/redo"), &Value::Null).await,
        }
    }

    async fn close(&mut self) {
        if let Some(socket) = &mut self.socket {
            socket.close().await;
        }
        self.end_temporary().await;
    }
}
