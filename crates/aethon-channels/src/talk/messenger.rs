//! Makes a channel from a platform: receives through the intake and delivers part by part.

use std::sync::Arc;

use aethon_core::assistant::Assistant;
use aethon_core::channel::{Channel, ChannelState, ChannelStatus, Delivery, DeliveryError, PlatformCalls};
use aethon_core::error::{Error, Result};
use aethon_core::message::Inbound;
use aethon_core::session::TurnRecord;
use aethon_core::shutdown::Shutdown;
use aethon_core::surface::Surface;
use async_trait::async_trait;
use tokio::time::Instant;

use super::access;
use super::act::{Act, first_id};
use super::approval_prompts::ApprovalPrompts;
use super::gate;
use super::growth::{AppendOnlyMessages, Asked};
use super::intake::Intake;
use super::outlet::RateLimitedSender;
use super::platform::{Check, Sender};
use super::receiver::Receiver;
use super::reply_gates::ReplyTerms;
use super::sending;
use super::started_turns::StartedTurn;
use super::stream::{ReplyOpening, Streams};
use crate::options::{ChannelServices, Rules};

/// A messenger as a channel.
pub struct Messenger {
    receiver: Arc<dyn Receiver>,
    outlet: Arc<RateLimitedSender>,
    streams: Arc<Streams>,
    prompts: Arc<ApprovalPrompts>,
    is_recipient: fn(&str) -> bool,
    calls: Option<Arc<dyn PlatformCalls>>,
}

impl Messenger {
    pub(crate) fn new(
        platform: Arc<dyn Receiver>,
        is_recipient: fn(&str) -> bool,
        rules: Rules,
        services: ChannelServices,
    ) -> Self {
        Self::growing((platform, None), is_recipient, rules, services)
    }

    /// Shows replies in growing messages.
    pub(crate) fn growing(
        (receiver, growth): (Arc<dyn Receiver>, Option<Arc<dyn AppendOnlyMessages>>),
        is_recipient: fn(&str) -> bool,
        rules: Rules,
        services: ChannelServices,
    ) -> Self {
        let outlet = Arc::new(RateLimitedSender::new((receiver.clone(), growth), rules, services));
        let prompts = Arc::new(ApprovalPrompts::new(outlet.clone()));
        let streams = Arc::new(Streams::new(outlet.clone(), prompts.clone()));
        Self { receiver, outlet, streams, prompts, is_recipient, calls: None }
    }

    /// Sets the receiver of the platform's HTTP calls.
    pub(crate) fn called_by_its_platform(self, calls: Arc<dyn PlatformCalls>) -> Self {
        Self { calls: Some(calls), ..self }
    }

    /// Checks whether the platform grants us access, without sending or receiving anything.
    pub async fn inspect(&self) -> Vec<Check> {
        let channel = self.outlet.channel();
        let mut checks = self.outlet.platform.inspect().await;
        for check in checks.iter_mut().filter(|check| !check.ok && !check.detail.contains("channels.")) {
            check.detail = format!("{}; check channels.{channel}.{}", check.detail, address_key(&check.id));
        }
        checks
    }

    #[cfg(test)]
    pub(super) fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    #[cfg(test)]
    pub(super) fn takes_deliveries(&self) -> bool {
        self.outlet.health.takes_deliveries()
    }

    #[cfg(test)]
    pub(super) fn intake_of(&self, assistant: Arc<dyn Assistant>) -> Intake {
        Intake::new(self.outlet.clone(), self.streams.clone(), self.prompts.clone(), assistant)
    }

    #[cfg(test)]
    pub(super) fn prompts(&self) -> &ApprovalPrompts {
        &self.prompts
    }

    /// Returns whether the person whose turn this delivery answers had access and lost it.
    async fn has_lost_access(&self, delivery: &Delivery) -> bool {
        let started = self.streams.started_turns.those(|started| started.turn == delivery.turn);
        let is_certain = |started: &&StartedTurn| {
            !started.is_resumed || !access::lists_names_or_groups(&self.outlet.rules)
        };
        let Some(started) = started.first().filter(is_certain) else { return false };
        // If that cannot be read, the reply was wanted when its turn began.
        !self.outlet.may_write(&started.who).await.unwrap_or(true)
    }

    /// Returns the recipient, or that of `channels.NAME.home`.
    fn recipient<'r>(&'r self, named: Option<&'r str>) -> Result<&'r str> {
        let channel = self.outlet.channel();
        let named = named.filter(|named| !named.is_empty()).or(self.outlet.rules.home.as_deref());
        let named = named.ok_or_else(|| {
            Error::invalid(format!("no recipient is named, and channels.{channel}.home is empty"))
        })?;
        if (self.is_recipient)(named) {
            return Ok(named);
        }
        Err(Error::invalid(format!("{named:?} cannot be a recipient on {channel}")))
    }
}

/// Returns the configuration key of the address that a check contacted.
fn address_key(check: &str) -> &'static str {
    match check {
        "imap" => "imap_host",
        "smtp" => "smtp_host",
        _ => "api_base",
    }
}

#[async_trait]
impl Channel for Messenger {
    fn name(&self) -> &str {
        self.outlet.channel()
    }

    fn check_recipient(&self, recipient: Option<&str>) -> Result<()> {
        self.recipient(recipient).map(drop)
    }

    async fn run(&self, assistant: Arc<dyn Assistant>, shutdown: Shutdown) -> Result<()> {
        let cleared_for = assistant.clone();
        let _running = self.outlet.health.connects();
        let intake = Intake::new(self.outlet.clone(), self.streams.clone(), self.prompts.clone(), assistant);
        intake.resume().await?;
        sending::keep_pauses(&self.outlet).await?;
        let beside = async {
            tokio::join!(
                self.prompts.void(),
                intake.process_waiting(),
                intake.watch_access(),
                gate::look_after(&self.outlet),
                gate::pass_on_recoveries(&self.outlet),
                self.streams.acknowledgements.clear_left(&*cleared_for),
            );
        };
        let ended = tokio::select! {
            ended = self.receiver.receive(&intake, shutdown.clone()) => ended,
            () = beside => Ok(()),
        };
        if shutdown.is_requested() {
            self.streams.shutdown().await;
        }
        ended
    }

    async fn send(&self, delivery: &Delivery) -> Result<(), DeliveryError> {
        let chat = self.recipient(delivery.content.recipient.as_deref());
        let chat = chat.map_err(|error| DeliveryError::lasting(error.to_string()))?;
        if delivery.content.is_reply && self.has_lost_access(delivery).await {
            return Err(DeliveryError::lasting("who asked for it may not write any more"));
        }
        sending::deliver(&self.outlet, &self.streams, (chat, delivery)).await
    }

    fn status(&self) -> Option<ChannelStatus> {
        let mut status = self.outlet.health.now();
        if status.state == ChannelState::Running && status.detail.is_empty() {
            let now = self.outlet.services.clock.now();
            let is_listed = |sender: &str| access::is_listed_by_id(&self.outlet.rules, sender);
            status.detail = self.outlet.health.knocks().told(self.outlet.channel(), now, is_listed);
        }
        status.is_holding = !self.outlet.health.takes_deliveries();
        Some(status)
    }

    fn watcher(&self, record: &TurnRecord) -> Option<Arc<dyn Surface>> {
        let inbound = &record.inbound;
        let to = inbound.deliver_to.as_ref().filter(|to| to.channel == self.outlet.channel())?;
        let is_owner = was_owners(&self.outlet.rules, inbound);
        let message = inbound.dedupe.as_ref().map(|dedupe| first_id(&dedupe.id).to_owned());
        let (sender, chat) = (inbound.sender.clone(), to.recipient.as_deref()?);
        let (turn, session) = (record.turn.clone(), inbound.session.clone());
        self.streams.started_turns.note(StartedTurn {
            turn,
            session,
            chat: chat.to_owned(),
            who: Sender { id: sender.clone(), name: None, group: None },
            is_resumed: true,
        });
        // Messages that the person sent while the program was away may belong to it.
        let opens_at = Instant::now() + Act::reply_delay(&self.outlet.platform.dialect());
        let opening = ReplyOpening { opens_at: Some(opens_at), terms: ReplyTerms::default() };
        self.streams.gates.note(&record.turn, opens_at, &opening.terms);
        Some(self.streams.surface_opening(chat, Asked { sender, message }, is_owner, opening))
    }

    fn calls(&self) -> Option<Arc<dyn PlatformCalls>> {
        self.calls.clone()
    }
}

/// Returns whether a stored message is from an owner. The sender's name was not stored, but owners' words are never
/// marked as untrusted, and in a household the person was stored.
fn was_owners(rules: &Rules, inbound: &Inbound) -> bool {
    let sender = Sender { id: inbound.sender.clone(), name: None, group: None };
    let is_unmarked = || rules.marks_others && !inbound.untrusted;
    let is_person = || rules.people.is_some() && inbound.behalf.person.is_owner();
    access::is_owner(rules, &sender) || is_unmarked() || is_person()
}
