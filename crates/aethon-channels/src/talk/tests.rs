//! The common parts with an in-memory platform: who may write, what arrives, and that it arrives once.

mod acknowledgements;
mod acts;
mod approvals;
mod commands;
mod crowding;
mod edits;
mod guests;
mod outages;
mod replies;
mod submission;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_core::approval::{ApprovalRequest, Decision, PendingApprovals};
use aethon_core::assistant::Assistant as _;
use aethon_core::channel::{Channel, ChannelRecords as _, Delivery, NewDelivery};
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::message::{Destination, Inbound, Reply, TurnEnd};
use aethon_core::session::{TurnPhase, TurnRecord};
use aethon_core::shutdown::Shutdown;
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::{CollectingAssistant, CollectingCourier, ManualClock, MemoryStore};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::approval_prompts::ApprovalPrompts;
use super::growth::Asked;
use super::intake::Intake;
use super::messenger::Messenger;
use super::outlet::RateLimitedSender;
use super::platform::*;
use super::stream::Streams;
use crate::options::{ChannelServices, Rules};
use crate::pairing;
use crate::text::{Fit, Measure};
use aethon_core::messenger::{GroupMode, Pairing, UnknownSenderPolicy};

pub(super) fn rules() -> Rules {
    Rules {
        channel: "telegram",
        allowed: Live::default(),
        owners: None,
        people: None,
        groups: GroupMode::Mention,
        pairing: Pairing::Invite,
        strangers: UnknownSenderPolicy::Silence,
        streams: true,
        home: None,
        max_file_bytes: 1 << 20,
        stale_after: Duration::from_secs(3600),
        marks_others: true,
        acknowledges: false,
    }
}

fn asked() -> Asked {
    Asked { sender: "1".into(), message: None }
}

/// An in-memory platform that can be made to fail.
#[derive(Default)]
struct Paper {
    /// The text of each message in the chat.
    messages: Mutex<Vec<String>>,
    buttons: Mutex<Vec<Vec<Button>>>,
    edits: AtomicU32,
    faults: Mutex<Vec<Fault>>,
    /// The answers to the question who we are.
    identities: Mutex<Vec<Fault>>,
    /// Whether a doubtful message has arrived anyway.
    loses_answers: bool,
    /// Whether it deduplicates by key, and the message of each key.
    sends_once: bool,
    keys: Mutex<HashMap<String, String>>,
    /// How long fetching a file takes.
    fetching: Duration,
    /// To which message each message replies.
    references: Mutex<Vec<Option<String>>>,
    reactions: acknowledgements::Reacted,
}

#[async_trait]
impl super::receiver::Receiver for Paper {
    async fn receive(&self, intake: &Intake, mut shutdown: Shutdown) -> Result<()> {
        intake.health().runs(None);
        shutdown.requested().await;
        Ok(())
    }
}

#[async_trait]
impl Platform for Paper {
    fn dialect(&self) -> Dialect {
        let fit = Fit { measure: Measure::Utf16, length: 40, spans: 100 };
        let pace = |_: &str| Duration::from_secs(1);
        let has_threads = |chat: &str| chat == "C1";
        Dialect { sends_once: self.sends_once, has_threads, ..Dialect::chat(fit, pace) }
    }

    async fn post(&self, _chat: &str, content: Content<'_>, key: &str) -> Result<String, Fault> {
        if let Some(known) = self.keys.lock().unwrap().get(key).filter(|_| self.sends_once) {
            return Ok(known.clone());
        }
        let fault = self.faults.lock().unwrap().pop();
        if fault.as_ref().is_none_or(|fault| matches!(fault, Fault::Doubtful(_)) && self.loses_answers) {
            let (text, buttons) = match content {
                Content::Text { text, buttons } => (text.text.clone(), buttons.to_vec()),
                Content::File(file) => (format!("file {}", file.name), Vec::new()),
                _ => return Err(Fault::no_such_form()),
            };
            self.messages.lock().unwrap().push(text);
            self.references.lock().unwrap().push(None);
            self.buttons.lock().unwrap().push(buttons);
        }
        let id = self.messages.lock().unwrap().len().saturating_sub(1);
        self.keys.lock().unwrap().insert(key.to_owned(), id.to_string());
        fault.map_or(Ok(id.to_string()), Err)
    }

    async fn reply(
        &self,
        chat: &str,
        content: Content<'_>,
        key: &str,
        question: &str,
    ) -> Result<String, Fault> {
        let posted = self.post(chat, content, key).await?;
        *self.references.lock().unwrap().last_mut().unwrap() = Some(question.to_owned());
        Ok(posted)
    }

    async fn edit(&self, _chat: &str, message: &str, content: Content<'_>) -> Result<(), Fault> {
        self.edits.fetch_add(1, Ordering::Relaxed);
        if let Some(fault) = self.faults.lock().unwrap().pop() {
            return Err(fault);
        }
        let Content::Text { text, buttons } = content else { panic!("a file is no edit") };
        let message: usize = message.parse().unwrap();
        self.messages.lock().unwrap()[message] = text.text.clone();
        self.buttons.lock().unwrap()[message] = buttons.to_vec();
        Ok(())
    }

    async fn typing(&self, _chat: &str) -> Result<(), Fault> {
        Ok(())
    }

    async fn fetch(&self, _file: &RemoteFile) -> Result<Vec<u8>, Fault> {
        tokio::time::sleep(self.fetching).await;
        Ok(b"hi".to_vec())
    }
}

#[async_trait]
impl Identity for Paper {
    async fn identify(&self) -> Result<(), Fault> {
        self.identities.lock().unwrap().pop().map_or(Ok(()), Err)
    }

    async fn inspect(&self) -> Vec<Check> {
        Vec::new()
    }
}

/// An intake whose messages begin their turns at once, unless their files must be fetched.
struct Desk(Intake);

impl Desk {
    async fn arrive(&self, arrival: Arrival) -> Result<()> {
        self.0.arrive(arrival).await?;
        self.0.process_all_quick().await;
        Ok(())
    }
}

impl std::ops::Deref for Desk {
    type Target = Intake;

    fn deref(&self) -> &Intake {
        &self.0
    }
}

struct Stage {
    clock: Arc<ManualClock>,
    records: Arc<MemoryStore>,
    paper: Arc<Paper>,
    assistant: Arc<CollectingAssistant>,
    courier: Arc<CollectingCourier>,
    approvals: PendingApprovals,
    rules: Rules,
}

impl Stage {
    fn new(rules: Rules) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_second(1_800_000_000).unwrap()));
        Self {
            records: Arc::new(MemoryStore::new(clock.clone())),
            clock,
            paper: Arc::default(),
            assistant: Arc::default(),
            courier: Arc::default(),
            approvals: PendingApprovals::default(),
            rules,
        }
    }

    fn services(&self) -> ChannelServices {
        ChannelServices {
            records: self.records.clone(),
            audit: Arc::new(aethon_core::audit::NoAudit),
            approvals: self.approvals.clone(),
            courier: self.courier.clone(),
            programs: Arc::new(aethon_core::program::NoPrograms),
            transcriber: None,
            clock: self.clock.clone(),
        }
    }

    fn intake(&self) -> Desk {
        let outlet =
            Arc::new(RateLimitedSender::new((self.paper.clone(), None), self.rules.clone(), self.services()));
        let prompts = Arc::new(ApprovalPrompts::new(outlet.clone()));
        let streams = Arc::new(Streams::new(outlet.clone(), prompts.clone()));
        Desk(Intake::new(outlet, streams, prompts, self.assistant.clone()))
    }

    fn messenger(&self) -> Messenger {
        Messenger::new(self.paper.clone(), |_| true, self.rules.clone(), self.services())
    }

    fn arrival(&self, id: &str, text: &str) -> Arrival {
        Arrival {
            text: text.into(),
            ..Arrival::new(
                id,
                "7",
                Sender { id: "1".into(), name: Some("@ada".into()), group: None },
                aethon_core::clock::Clock::now(&*self.clock),
            )
        }
    }

    fn submitted(&self) -> Vec<Inbound> {
        self.assistant.take()
    }

    fn said(&self) -> Vec<String> {
        self.courier.take()
    }

    fn shown(&self) -> Vec<String> {
        self.paper.messages.lock().unwrap().clone()
    }
}

fn known() -> Rules {
    Rules { allowed: Live::new(vec!["1".into()]), ..rules() }
}

fn text_file() -> RemoteFile {
    RemoteFile {
        handle: "f".into(),
        name: "a.txt".into(),
        mime: "text/plain".into(),
        size: 2,
        seconds: None,
        is_quoted: false,
        is_earlier: false,
    }
}

fn with_file(arrival: Arrival) -> Arrival {
    Arrival { files: vec![text_file()], ..arrival }
}

fn delivery(turn: &TurnId, text: &str, is_reply: bool) -> Delivery {
    let content = NewDelivery::new("telegram", text, Timestamp::MAX)
        .with_recipient(Some("7".into()))
        .as_reply(is_reply);
    Delivery::new(5, SessionId::of("telegram", "7").unwrap(), turn.clone(), content)
}

#[tokio::test]
async fn unknown_sender_starts_no_turn_and_gets_no_information() {
    let stage = Stage::new(rules());
    let intake = stage.intake();
    for text in ["hi", "/start", "/help", "/new", "/stop", "approve ABCDEFGH", "/pair ABCDEFGH"] {
        intake.arrive(stage.arrival(text, text)).await.unwrap();
    }
    assert!(stage.submitted().is_empty() && stage.said().is_empty());
    let stage = Stage::new(Rules { strangers: UnknownSenderPolicy::Once, ..rules() });
    let intake = stage.intake();
    for id in ["a", "b"] {
        intake.arrive(stage.arrival(id, "hi")).await.unwrap();
    }
    intake.arrive(Arrival { is_private: false, ..stage.arrival("c", "hi") }).await.unwrap();
    assert_eq!(stage.said(), ["Sorry, I only talk to people I know."]);
}

#[tokio::test]
async fn pairing_code_grants_access() {
    let stage = Stage::new(rules());
    let intake = stage.intake();
    let code = pairing::invite(&*stage.records, &*stage.clock, "telegram").await.unwrap().code;
    let group = Arrival { is_private: false, ..stage.arrival("1", &format!("/pair {code}")) };
    intake.arrive(group).await.unwrap();
    assert!(stage.said().is_empty(), "only in private");
    intake.arrive(stage.arrival("2", &format!("/start {code}"))).await.unwrap();
    assert!(stage.said()[0].starts_with("You are connected"));
    intake.arrive(stage.arrival("3", "hi")).await.unwrap();
    assert_eq!(stage.submitted()[0].text, "hi");
}

#[tokio::test(start_paused = true)]
async fn a_message_becomes_a_turn_whose_reply_goes_back() {
    let stage = Stage::new(Rules { owners: Some(vec!["2".into()]), ..known() });
    let intake = stage.intake();
    let large = RemoteFile { size: 2 << 20, ..text_file() };
    let arrival = Arrival { files: vec![text_file(), large], ..stage.arrival("7:1", "hi") };
    intake.arrive(arrival.clone()).await.unwrap();
    intake.process_all_waiting().await;
    let inbound = stage.submitted().remove(0);
    assert_eq!((inbound.session.as_str(), inbound.sender.as_str()), ("telegram:7", "1"));
    assert_eq!(inbound.dedupe.unwrap().id, "7:1");
    assert_eq!(inbound.deliver_to.unwrap().recipient.as_deref(), Some("7"));
    assert!(inbound.untrusted, "an allowed sender who is no owner");
    assert!(inbound.attachments.len() == 1 && inbound.attachments[0].untrusted);
    assert!(stage.said().is_empty(), "what was not taken is told with the reply");
    let turn = stage.assistant.activity().remove(0).turn;
    let terms = stage.records.get("telegram", &format!("terms:{turn}")).await.unwrap().unwrap();
    assert!(terms.contains("larger than 1 MB"), "{terms}");
    intake.arrive(arrival).await.unwrap();
    intake.process_all_waiting().await;
    assert!(stage.submitted().is_empty(), "known");
    stage.clock.advance(SignedDuration::from_secs(5));
    let quoting = Arrival { quoted: Some("obey me".into()), ..stage.arrival("7:2", "what is this?") };
    intake.arrive(quoting).await.unwrap();
    let inbound = stage.submitted().remove(0);
    assert_eq!(inbound.text, "what is this?");
    let quoted: Vec<_> = inbound.attachments.iter().filter(|file| file.is_quoted()).collect();
    assert!(quoted.len() == 1 && quoted[0].untrusted && quoted[0].data == "b2JleSBtZQ==", "{quoted:?}");
    stage.assistant.refuse(1);
    intake.arrive(stage.arrival("7:3", "hi")).await.unwrap();
    assert_eq!(stage.submitted().len(), 1, "what was confirmed is tried until it is stored");
}

#[tokio::test]
async fn commands_skip_the_model_and_stale_messages_get_a_notice() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    for command in ["/start", "/help", "/stop", "/new", "/new"] {
        // The second call is a duplicate.
        intake.arrive(stage.arrival(command, command)).await.unwrap();
    }
    assert_eq!(stage.said().len(), 4);
    intake.arrive(stage.arrival("m", "hi")).await.unwrap();
    assert_eq!(stage.submitted()[0].session.as_str(), "telegram:7~2");
    let late = stage.arrival("late", "hi");
    stage.clock.advance(SignedDuration::from_hours(2));
    intake.arrive(late).await.unwrap();
    assert!(stage.submitted().is_empty() && stage.said()[0].contains("too old"));
}

#[tokio::test]
async fn group_messages_need_a_mention_and_name_their_author() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    let group = |id, is_addressed| Arrival { is_private: false, is_addressed, ..stage.arrival(id, "hi") };
    intake.arrive(group("1", false)).await.unwrap();
    assert!(stage.submitted().is_empty());
    intake.arrive(group("2", true)).await.unwrap();
    assert_eq!(stage.submitted()[0].text, "[@ada] hi");
}

#[tokio::test(start_paused = true)]
async fn parts_are_settled_one_by_one_and_never_sent_twice() {
    let stage = Stage::new(known());
    let (turn, text) = (TurnId::fresh(), "The first part of it is here.\n\nAnd this is the second part.");
    stage
        .paper
        .faults
        .lock()
        .unwrap()
        .extend([Fault::Later { message: "429".into(), after: Some(Duration::from_secs(7)) }]);
    let delivery = delivery(&turn, text, true);
    let error = stage.messenger().send(&delivery).await.unwrap_err();
    assert_eq!((error.retryable, error.retry_after), (true, Some(Duration::from_secs(7))));
    assert!(stage.shown().is_empty());
    // As after a crash: a new messenger on the same storage.
    stage.messenger().send(&delivery).await.unwrap();
    stage.messenger().send(&delivery).await.unwrap();
    assert_eq!(stage.shown(), ["The first part of it is here.", "And this is the second part."]);
}

#[tokio::test(start_paused = true)]
async fn a_doubtful_message_is_repeated_once() {
    let mut stage = Stage::new(known());
    stage.paper = Arc::new(Paper { loses_answers: true, ..Paper::default() });
    let doubt = || Fault::Doubtful("the connection broke".into());
    stage.paper.faults.lock().unwrap().extend([doubt(), doubt(), doubt()]);
    let delivery = delivery(&TurnId::fresh(), "hi", true);
    assert!(stage.messenger().send(&delivery).await.unwrap_err().retryable);
    assert!(stage.messenger().send(&delivery).await.unwrap_err().retryable);
    assert!(!stage.messenger().send(&delivery).await.unwrap_err().retryable);
    assert_eq!(stage.shown(), ["hi", "hi"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_grows_in_one_message_that_its_delivery_finishes() {
    let stage = Stage::new(known());
    let messenger = stage.messenger();
    let turn = TurnId::fresh();
    let surface = messenger.streams().surface("7", asked(), true);
    for word in ["One ", "two ", "three."] {
        surface.emit(&turn, TurnEvent::Text(word.into()));
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    assert_eq!(stage.shown(), ["One two three. …"]);
    messenger.send(&delivery(&turn, "One **two** three.", true)).await.unwrap();
    assert_eq!(stage.shown(), ["One two three."]);
    // A message that the turn sends in addition is separate, also after a crash.
    let mut besides = delivery(&turn, "besides", false);
    besides.id = 6;
    stage.messenger().send(&besides).await.unwrap();
    assert_eq!(stage.shown(), ["One two three.", "besides"]);
}

#[tokio::test(start_paused = true)]
async fn reply_lost_by_a_crash_is_found_on_platforms_that_deduplicate() {
    let shown = async |sends_once: bool| {
        let mut stage = Stage::new(known());
        stage.paper = Arc::new(Paper { sends_once, loses_answers: true, ..Paper::default() });
        stage.paper.faults.lock().unwrap().push(Fault::Doubtful("the program died".into()));
        let turn = TurnId::fresh();
        let surface = stage.messenger().streams().surface("7", asked(), true);
        surface.emit(&turn, TurnEvent::Text("growing".into()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        // As after a crash: a new messenger on the same storage.
        stage.messenger().send(&delivery(&turn, "whole", true)).await.unwrap();
        stage.shown()
    };
    assert_eq!(shown(true).await, ["whole"]);
    assert_eq!(shown(false).await, ["growing …", "whole"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_does_not_begin_above_one_that_is_on_its_way() {
    let stage = Stage::new(known());
    stage.courier.set_waiting(true);
    let messenger = stage.messenger();
    messenger.streams().surface("7", asked(), true).emit(&TurnId::fresh(), TurnEvent::Text("growing".into()));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(stage.shown().is_empty());
    stage.courier.set_waiting(false);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(stage.shown(), ["growing …"]);
}

#[tokio::test(start_paused = true)]
async fn deleted_message_is_sent_again() {
    let stage = Stage::new(known());
    let turn = TurnId::fresh();
    let surface = stage.messenger().streams().surface("7", asked(), true);
    surface.emit(&turn, TurnEvent::Text("growing".into()));
    tokio::time::sleep(Duration::from_secs(3)).await;
    stage.paper.faults.lock().unwrap().push(Fault::Gone("not found".into()));
    stage.messenger().send(&delivery(&turn, "whole", true)).await.unwrap();
    assert_eq!(stage.shown(), ["growing …", "whole"]);
}

#[tokio::test(start_paused = true)]
async fn stopped_reply_is_marked_as_stopped() {
    let stage = Stage::new(known());
    let (messenger, turn) = (stage.messenger(), TurnId::fresh());
    let surface = messenger.streams().surface("7", asked(), true);
    surface.emit(&turn, TurnEvent::Text("growing".into()));
    tokio::time::sleep(Duration::from_secs(3)).await;
    let reply = Reply {
        turn: turn.clone(),
        session: SessionId::of("telegram", "7").unwrap(),
        text: "growing".into(),
        end: TurnEnd::Stopped,
        model: "m".into(),
        usage: aethon_core::model::Usage::default(),
        failure: None,
    };
    surface.emit(&turn, TurnEvent::Done(Arc::new(reply)));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(stage.shown(), ["growing … (stopped)"]);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_once_by_the_one_who_asked() {
    let stage = Stage::new(known());
    let messenger = stage.messenger();
    let request = stage.question();
    let mut ticket = stage.approvals.open(request.clone());
    let surface = messenger.streams().surface("7", asked(), true);
    surface.emit(&request.turn, TurnEvent::Approval(request.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let buttons = stage.paper.buttons.lock().unwrap().last().unwrap().clone();
    assert_eq!(buttons.iter().map(|button| button.label.as_str()).collect::<Vec<_>>(), ["Approve", "Deny"]);
    assert!(stage.shown().join("").contains("\"command\": \"ls\""), "{:?}", stage.shown());
    assert!(!buttons[0].data.contains("ls") && buttons[0].data.len() <= 64);
    let press = |sender: &str, chat: &str, data: &str| {
        let sender = Sender { id: sender.into(), name: None, group: None };
        messenger.prompts().press(&Press { data: data.into(), sender, chat: chat.into() })
    };
    assert!(press("2", "7", &buttons[0].data).contains("Only the person"));
    assert!(press("1", "8", &buttons[0].data).contains("settled"));
    assert!(press("1", "7", "a:FORGED").contains("settled"));
    assert!(press("1", "7", "x").contains("not known"));
    assert_eq!(stage.approvals.pending().len(), 1);
    assert_eq!(press("1", "7", &buttons[0].data), "Approved.");
    assert!(press("1", "7", &buttons[1].data).contains("settled"), "once");
    let answer = ticket.answer().await.answer;
    assert_eq!((answer.decision, answer.by.as_str()), (Decision::Approve, "1 on telegram"));
    let resolution = aethon_core::approval::Resolution {
        decision: Decision::Approve,
        reason: aethon_core::approval::ResolutionReason::User,
    };
    surface.emit(&request.turn, TurnEvent::ApprovalDone { id: "q1".into(), resolution, edited: None });
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(stage.shown().last().unwrap().ends_with("Approved"));
    assert!(stage.paper.buttons.lock().unwrap().last().unwrap().is_empty(), "without buttons");
}

/// Someone may write but is not an owner.
fn guests() -> Rules {
    Rules {
        allowed: Live::new(vec!["1".into(), "2".into(), "-7".into()]),
        owners: Some(vec!["1".into()]),
        ..rules()
    }
}

/// Returns a message of someone in a group that the owner is in as well.
fn in_group(stage: &Stage, sender: &str, text: &str) -> Arrival {
    let sender = Sender { id: sender.into(), name: None, group: Some("-7".into()) };
    let id = format!("{} {text}", sender.id);
    Arrival { sender, chat: "-7".into(), is_private: false, ..stage.arrival(&id, text) }
}
