//! `/ws/chat` with `aethon.chat.v1`: the JSON protocol of the chat page.
//!
//! A socket subscribes to each session it talks to: first the one its address names, then any that it names itself. A
//! subscription is a position in the log of the session's [`Room`]. Sending means reading on from there, so replayed
//! and live frames are one stream. No text message within the size limit closes the connection.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::approval::{Answer, AnswerError, Decision};
use aethon_core::assistant::Submitted;
use aethon_core::event::{Event, EventBus, SessionChange};
use aethon_core::ids::{SessionId, TurnId, unique};
use aethon_core::message::{Attachment, Dedupe, Inbound};
use aethon_core::surface::Surface;
use tokio::sync::{Notify, watch};

use super::attachments;
use super::frames::{self, Body, Refusal};
use super::hub::Hub;
use super::in_sight::PageInSight;
use super::log::Batch;
use super::requests::{self, ApprovalAnswer, Attached, Branch, Message, Read, Request, Resume, Stop};
use super::room::Room;
use super::socket::{Close, Received, Socket, Unwritable};
use super::turn_surface::TurnSurface;
use super::watchlist::{Watch, Watchlist};
use super::webchat::session_named;
use crate::app::App;
use crate::deps::{Chat, Runtime};
use crate::error::STORAGE_UNAVAILABLE;
use crate::json::CommandList;

/// How long a new socket may take to say where to resume, before live frames are sent.
const GRACE: Duration = Duration::from_millis(250);
/// How many sessions one socket may talk to.
const MAX_SUBSCRIPTIONS: usize = 64;
/// The longest id a client may choose, in bytes.
const MAX_ID: usize = 200;

/// Runs until the connection ends. Returns a close code if it is still open.
pub(super) async fn run(app: &App, socket: &mut Socket, session: SessionId) -> Option<Close> {
    let (chat, runtime) = (&app.deps.chat, &app.deps.runtime);
    let wake = Arc::new(Notify::new());
    let subscription = Subscription::take(&chat.hub, &session, &wake);
    let ready = frames::ready(session.name(), app.about.version);
    let mut connection = ChatConnection {
        chat,
        runtime,
        news: News {
            list: &app.watchlist,
            bus: &app.deps.activity.bus,
            watch: None,
            commands: chat.commands.changes(),
        },
        home: session,
        wake,
        subscriptions: vec![subscription],
        page: chat.hub.page(),
        is_live: false,
    };
    if let Err(unwritable) = socket.send(ready).await {
        return unwritable.close();
    }
    if runtime.health.fault().is_some()
        && let Err(unwritable) = connection.tell_health(socket).await
    {
        return unwritable.close();
    }
    socket.wake_after(GRACE);
    connection.run(socket).await
}

/// A socket's subscription to a session: a position in the log of its room.
struct Subscription {
    room: Arc<Room>,
    wake: Arc<Notify>,
    /// The last frame that was sent or can be skipped.
    reached: u64,
    /// Whether the end of a replay is to be announced.
    is_resuming: bool,
    /// The state of the conversation's commands in the background that was sent last.
    commands: u64,
}

impl Subscription {
    fn take(hub: &Hub, session: &SessionId, wake: &Arc<Notify>) -> Self {
        let room = hub.room(session);
        let reached = room.enter(wake);
        hub.is_read(&room);
        Self { room, wake: Arc::clone(wake), reached, is_resuming: false, commands: 0 }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.room.leave(&self.wake);
    }
}

/// News of conversations, for a socket that watches them.
struct News<'a> {
    list: &'a Watchlist,
    bus: &'a EventBus,
    /// The place in the list, once the client watches it.
    watch: Option<Watch>,
    /// Whether a list of commands in the background may have changed.
    commands: watch::Receiver<u64>,
}

struct ChatConnection<'a> {
    chat: &'a Chat,
    runtime: &'a Runtime,
    news: News<'a>,
    home: SessionId,
    wake: Arc<Notify>,
    subscriptions: Vec<Subscription>,
    page: PageInSight,
    /// Whether live frames are sent. This starts when the client has spoken or had its chance to.
    is_live: bool,
}

impl ChatConnection<'_> {
    async fn run(&mut self, socket: &mut Socket) -> Option<Close> {
        let mut shutdown = self.runtime.shutdown.clone();
        let mut health = self.runtime.health.watch();
        let mut is_stopping = false;
        loop {
            if self.is_live || is_stopping {
                match self.send_new(socket).await {
                    Ok(None) => {}
                    Ok(Some(close)) => return Some(close),
                    Err(unwritable) => return unwritable.close(),
                }
            }
            if is_stopping && !self.subscriptions.iter().any(|subscription| subscription.room.is_running()) {
                return Some(Close::AWAY);
            }
            tokio::select! {
                biased;
                () = shutdown.requested(), if !is_stopping => is_stopping = true,
                () = self.wake.notified() => {}
                Ok(()) = self.news.commands.changed(), if self.news.watch.is_some() => {}
                Ok(()) = health.changed() => {
                    if let Err(unwritable) = self.tell_health(socket).await {
                        return unwritable.close();
                    }
                }
                received = socket.receive(true) => match received {
                    Received::Text(text) => {
                        let outcome = Box::pin(self.handle(text.as_str())).await;
                        self.is_live = true;
                        if let Err(refusal) = outcome
                            && let Err(unwritable) = self.refuse(socket, &refusal).await
                        {
                            return unwritable.close();
                        }
                    }
                    Received::Tick => self.is_live = true,
                    Received::Over => return None,
                    Received::Wrong(close) => return Some(close),
                },
            }
        }
    }

    /// Sends new frames from all subscriptions.
    async fn send_new(&mut self, socket: &mut Socket) -> Result<Option<Close>, Unwritable> {
        for subscription in &mut self.subscriptions {
            loop {
                match subscription.room.read_after(subscription.reached) {
                    Batch::Gap => return Ok(Some(Close::TOO_SLOW)),
                    Batch::Frames(texts, _) if texts.is_empty() => break,
                    Batch::Frames(texts, reached) => {
                        subscription.reached = reached;
                        socket.send_all(texts).await?;
                    }
                }
            }
            if std::mem::take(&mut subscription.is_resuming) {
                let session = subscription.room.session().name();
                socket.send(frames::resumed(session, subscription.reached)).await?;
            }
        }
        while let Some(watch) = &mut self.news.watch {
            match watch.next() {
                None => return Ok(Some(Close::TOO_SLOW)),
                Some(frames) if frames.is_empty() => break,
                Some(frames) => socket.send_all(frames).await?,
            }
        }
        if self.news.watch.is_some() {
            self.send_commands(socket).await?;
        }
        Ok(None)
    }

    /// Sends the commands in the background of the conversations in which they have changed.
    async fn send_commands(&mut self, socket: &mut Socket) -> Result<(), Unwritable> {
        let commands = &*self.chat.commands;
        for subscription in &mut self.subscriptions {
            let session = subscription.room.session();
            let revision = commands.revision(session);
            if std::mem::replace(&mut subscription.commands, revision) != revision {
                socket.send(frames::commands(CommandList::of(commands, session))).await?;
            }
        }
        Ok(())
    }

    /// Notifies the client that messages are refused because the storage fails, or that it has recovered.
    async fn tell_health(&self, socket: &mut Socket) -> Result<(), Unwritable> {
        let frame = match self.runtime.health.fault() {
            Some(fault) => {
                let why = frames::sentence(&fault.message);
                let words = format!("New messages are refused, because they cannot be stored. {why}");
                frames::notice(STORAGE_UNAVAILABLE, &words)
            }
            None => frames::notice("storage_restored", "Messages are stored again."),
        };
        socket.send(frame).await
    }

    async fn refuse(&self, socket: &mut Socket, refusal: &Refusal) -> Result<(), Unwritable> {
        socket.send(refusal.frame()).await
    }

    async fn handle(&mut self, text: &str) -> Result<(), Refusal> {
        match Request::parse(text)? {
            Request::Message(message) => self.message(message).await,
            Request::Stop(stop) => self.stop(stop).await,
            Request::Approval(answer) => self.decide(answer).await,
            Request::Resume(resume) => self.resume(&resume).await,
            Request::Watch => {
                self.watch();
                Ok(())
            }
            Request::Read(read) => self.read(read).await,
            Request::Visible(visible) => {
                self.page.set(visible.visible);
                Ok(())
            }
            Request::Retry(branch) => self.branch(branch, false).await,
            Request::Edit(branch) => self.branch(branch, true).await,
        }
    }

    /// Sends news of all conversations from now on.
    fn watch(&mut self) {
        let News { list, bus, watch, .. } = &mut self.news;
        watch.get_or_insert_with(|| list.watch(self.chat, bus, &self.wake));
    }

    /// Notes that a person has seen a conversation, so that no device shows it as unread.
    async fn read(&self, read: Read) -> Result<(), Refusal> {
        let session = self.named_or_home(read.session.as_deref())?;
        let was_unread =
            self.chat.transcripts.mark_read(&session).await.map_err(|error| Refusal::of(&error))?;
        if was_unread {
            self.news.bus.publish(|| Event::Session { session, change: SessionChange::Updated });
        }
        Ok(())
    }

    /// Decides an approval. The approval prompt limits how long checking changed arguments takes.
    async fn decide(&self, told: ApprovalAnswer) -> Result<(), Refusal> {
        let answer = match told.is_unattended && told.decision == Decision::Deny {
            true => Answer::unasked(),
            false => Answer::new(told.decision).scoped(told.scope).with_input(told.input),
        };
        let answer = answer.by("the chat");
        let refusal = match self.chat.approvals.answer(&told.id, answer).await {
            Ok(()) => return Ok(()),
            Err(AnswerError::Unknown) => {
                Refusal::new("unknown_approval", "That question is settled already, or it is gone.")
            }
            Err(AnswerError::Refused(reason)) => Refusal::new(
                "bad_edit",
                format!(
                    "The changed arguments cannot run. {} The question is still open.",
                    frames::sentence(&reason)
                ),
            ),
        };
        Err(refusal.about(Some(&told.id)))
    }

    async fn message(&mut self, message: Message) -> Result<(), Refusal> {
        let id = message.id;
        let about = |refusal: Refusal| refusal.about(Some(&id));
        check_id(&id).map_err(about)?;
        let attached = message.attachments.unwrap_or_default();
        let uploads = attachments::uploads(&attached);
        let files = self.files(attached).await.map_err(about)?;
        let checked = || -> Result<Inbound, Refusal> {
            let schema = requests::schema(message.schema)?;
            let session = self.named_or_home(message.session.as_deref())?;
            if message.text.trim().is_empty() && files.is_empty() {
                let words = "The message was empty. Write something and send it again.";
                return Err(Refusal::new("empty_message", words));
            }
            let inbound =
                Inbound::say(session, message.text).with_effort(message.effort).with_model(message.model);
            Ok(inbound.with_schema(schema).with_attachments(files))
        };
        let inbound = checked().map_err(about)?;
        self.submit_with(inbound, &id, uploads).await.map_err(about)
    }

    /// Submits a message with files that were uploaded. Of a temporary session they must not lie about until their day is over.
    async fn submit_with(&mut self, inbound: Inbound, id: &str, uploads: Vec<String>) -> Result<(), Refusal> {
        let is_temporary = inbound.session.is_temporary();
        self.submit(inbound, id).await?;
        for upload in uploads.iter().filter(|_| is_temporary) {
            if let Err(error) = self.chat.uploads.forget(upload).await {
                tracing::warn!(%error, "an uploaded file of a temporary conversation is removed later");
            }
        }
        Ok(())
    }

    async fn files(&self, attached: Vec<Attached>) -> Result<Vec<Attachment>, Refusal> {
        attachments::checked(&*self.chat.uploads, attached).await
    }

    /// Handles a retry or an edit.
    async fn branch(&mut self, branch: Branch, is_edit: bool) -> Result<(), Refusal> {
        let (given, effort, model) = (branch.id, branch.effort, branch.model);
        let id = given.clone().unwrap_or_else(|| format!("branch-{}", unique()));
        let about = |refusal: Refusal| refusal.about(given.as_deref());
        let uploads = branch.attachments.as_deref().map(attachments::uploads).unwrap_or_default();
        let files = match branch.attachments.filter(|_| is_edit) {
            Some(attached) => Some(self.files(attached).await.map_err(about)?),
            None => None,
        };
        let checked = || -> Result<Inbound, Refusal> {
            check_id(&id)?;
            let text = if is_edit { branch.text.unwrap_or_default() } else { String::new() };
            if is_edit && text.trim().is_empty() && files.as_ref().is_none_or(Vec::is_empty) {
                return Err(Refusal::new("bad_frame", "An edit needs a `text` that is not empty."));
            }
            let session = match branch.session.as_deref() {
                Some(name) => named(name)?,
                None => self.session_of(|room| room.knows_turn(&branch.turn)),
            };
            let turn = TurnId::existing(&branch.turn);
            Ok(match (is_edit, files) {
                (false, _) => Inbound::retry(session, turn),
                (true, None) => Inbound::edit(session, turn, text),
                (true, Some(files)) => Inbound::edit(session, turn, text).with_attachments(files),
            })
        };
        let inbound = checked().map_err(about)?.with_effort(effort).with_model(model);
        self.submit_with(inbound, &id, uploads).await.map_err(about)
    }

    async fn submit(&mut self, mut inbound: Inbound, id: &str) -> Result<(), Refusal> {
        // The engine checks it as well; here it gets a code of its own.
        if let Some(model) = &inbound.wishes.model {
            let unknown = |error: aethon_core::error::Error| {
                Refusal::new("unknown_model", frames::sentence(&error.to_string()))
            };
            self.chat.choices.check(model).await.map_err(unknown)?;
        }
        let room = Arc::clone(&self.subscription(&inbound.session)?.room);
        inbound.dedupe = Some(Dedupe {
            id: format!("{}/{id}", inbound.session.name()),
            fingerprint: None,
            valid_for: None,
        });
        let surface = TurnSurface::held(&room);
        // However this ends, the turn's events must not stay held back.
        let release = Release(&surface);
        let watcher: Arc<dyn Surface> = Arc::clone(&surface) as _;
        let submitted = self.chat.assistant.submit(inbound, watcher).await;
        let Submitted { turn, queued, is_new, .. } = submitted.map_err(|error| Refusal::of(&error))?;
        if is_new {
            surface.acknowledge(&turn, id, queued);
        } else {
            room.push(&turn, &Body::Ack { id, queued });
        }
        drop(release);
        Ok(())
    }

    async fn stop(&self, stop: Stop) -> Result<(), Refusal> {
        let session = match (stop.session.as_deref(), stop.turn.as_deref()) {
            (Some(name), _) => named(name)?,
            (None, Some(turn)) => self.session_of(|room| room.has_turn(turn)),
            (None, None) => self.named_or_home(None)?,
        };
        let turn = stop.turn.as_deref().map(TurnId::existing);
        // A turn that just ended on its own counts as stopped.
        self.chat.assistant.stop(&session, turn.as_ref()).await;
        Ok(())
    }

    async fn resume(&mut self, resume: &Resume) -> Result<(), Refusal> {
        let (session, chat) = (named(&resume.session)?, self.chat);
        let subscription = self.subscription(&session)?;
        if subscription.room.resume_point(resume.after).is_err() {
            chat.hub.fetch_after(&subscription.room, resume.after).await;
        }
        match subscription.room.resume_point(resume.after) {
            Ok(point) => {
                subscription.reached = point;
                subscription.is_resuming = true;
                Ok(())
            }
            Err(newest) => {
                subscription.reached = newest;
                subscription.is_resuming = false;
                let message =
                    "Some of what happened is no longer kept for a replay. Load the conversation again.";
                Err(Refusal::new("resume_gap", message))
            }
        }
    }

    /// Returns the subscription to a session, adding one if necessary.
    fn subscription(&mut self, session: &SessionId) -> Result<&mut Subscription, Refusal> {
        let found = self.subscriptions.iter().position(|subscription| subscription.room.session() == session);
        let index = match found {
            Some(index) => index,
            None if self.subscriptions.len() >= MAX_SUBSCRIPTIONS => {
                let message = format!(
                    "One connection talks to at most {MAX_SUBSCRIPTIONS} conversations. Open another one."
                );
                return Err(Refusal::new("too_many_sessions", message));
            }
            None => {
                self.subscriptions.push(Subscription::take(&self.chat.hub, session, &self.wake));
                self.subscriptions.len() - 1
            }
        };
        self.subscriptions
            .get_mut(index)
            .ok_or_else(|| Refusal::new("internal", "That did not work. Try again."))
    }

    fn named_or_home(&self, name: Option<&str>) -> Result<SessionId, Refusal> {
        name.map_or_else(|| Ok(self.home.clone()), named)
    }

    /// Returns the session whose room matches, or the one that the address names.
    fn session_of(&self, is_it: impl Fn(&Room) -> bool) -> SessionId {
        let found = self.subscriptions.iter().find(|subscription| is_it(&subscription.room));
        found.map_or_else(|| self.home.clone(), |subscription| subscription.room.session().clone())
    }
}

/// Releases the held events of a turn when dropped.
struct Release<'a>(&'a TurnSurface);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

fn named(name: &str) -> Result<SessionId, Refusal> {
    session_named(name).ok_or_else(|| {
        Refusal::new(
            "bad_session",
            "That cannot be the name of a conversation: it is empty, too long, or has control characters.",
        )
    })
}

fn check_id(id: &str) -> Result<(), Refusal> {
    if id.is_empty() || id.len() > MAX_ID || id.chars().any(char::is_control) {
        return Err(Refusal::new("bad_frame", format!("An `id` has 1 to {MAX_ID} characters.")));
    }
    Ok(())
}
