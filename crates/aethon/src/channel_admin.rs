//! The owner's commands for messengers: testing their credentials, and pairing senders.

use std::sync::Arc;

use aethon_channels::pairing;
use aethon_channels::{ChannelServices, Check};
use aethon_core::channel::{ChannelRecords, ChannelState};
use aethon_core::clock::Clock;
use aethon_core::messenger::Pairing as PairingWay;
use aethon_core::pairing::{PairedSender, PairingCode, Pairings};
use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use crate::aethon::Aethon;
use crate::error::{Error, Result};
use crate::messengers::no_invitation;
use crate::prepared::Prepared;
use crate::wiring::messengers::{self, MessengerDeps, NAMES};

/// The result of testing a messenger.
#[derive(Debug, Clone, Serialize)]
pub struct ChannelTest {
    /// The messenger's name.
    pub name: String,
    /// Whether all checks passed.
    pub ok: bool,
    /// The checks.
    pub checks: Vec<Check>,
}

impl Aethon {
    /// Tests whether a messenger accepts the credentials, without sending or consuming messages. `None` if the name is unknown.
    pub async fn test_channel(&self, name: &str) -> Option<ChannelTest> {
        let messenger = messengers::messenger(&self.config, name, &self.messenger_deps())?;
        let checks = match messengers::is_enabled(&self.config, name) {
            true => messenger.inspect().await,
            false => {
                vec![Check::new("enabled", false, format!("it is off; set channels.{name}.enabled = true"))]
            }
        };
        Some(ChannelTest { name: name.to_owned(), ok: checks.iter().all(|check| check.ok), checks })
    }

    /// Returns whether a messenger is on in this configuration. A server of the same home may run with another one.
    pub fn is_channel_enabled(&self, name: &str) -> bool {
        messengers::is_enabled(&self.config, name)
    }

    /// Creates a code; the sender who sends it to this messenger is paired.
    pub async fn pair(&self, name: &str) -> Result<PairingCode> {
        known(name)?;
        Ok(self.pairings().invite(name).await?)
    }

    /// Revokes a pairing. Returns `false` if there was none.
    pub async fn revoke_pairing(&self, name: &str, sender: &str) -> Result<bool> {
        known(name)?;
        Ok(self.pairings().revoke(name, sender).await?)
    }

    /// The paired senders.
    pub fn pairings(&self) -> Arc<dyn Pairings> {
        Arc::new(KeptPairings {
            records: self.storage.channel_records.clone(),
            clock: self.clock.clone(),
            ways: NAMES.map(|name| messengers::pairing(&self.config, name).unwrap_or_default()),
        })
    }

    pub(crate) fn messenger_deps(&self) -> MessengerDeps {
        let services = ChannelServices {
            programs: self.tools.programs.clone(),
            transcriber: self.models.transcriber.clone(),
            records: self.storage.channel_records.clone(),
            audit: self.storage.audit.clone(),
            approvals: self.approvals.clone(),
            courier: self.deliveries.courier(self.storage.outbox.clone()),
            clock: self.clock.clone(),
        };
        MessengerDeps { services, allowed: self.shared.allowed_senders.clone() }
    }
}

/// The pairings in the database.
struct KeptPairings {
    records: Arc<dyn ChannelRecords>,
    clock: Arc<dyn Clock>,
    /// How strangers can be admitted, by messenger in the order of `NAMES`.
    ways: [PairingWay; NAMES.len()],
}

#[async_trait]
impl Pairings for KeptPairings {
    async fn invite(&self, channel: &str) -> aethon_core::error::Result<PairingCode> {
        let Some(at) = NAMES.iter().position(|name| *name == channel) else {
            let names = NAMES.join(", ");
            let message = format!("there is no channel {channel:?} that can be paired; there are: {names}");
            return Err(aethon_core::error::Error::not_found(message));
        };
        // A code that the channel would not accept is worse than none.
        if let Some(remedy) = no_invitation(channel, self.ways[at]) {
            return Err(aethon_core::error::Error::invalid(remedy));
        }
        pairing::invite(&*self.records, &*self.clock, channel).await
    }

    async fn paired(&self) -> aethon_core::error::Result<Vec<PairedSender>> {
        let mut all = Vec::new();
        for channel in NAMES {
            let senders = pairing::paired(&*self.records, channel).await?;
            all.extend(
                senders.into_iter().map(|sender| PairedSender { channel: channel.to_owned(), sender }),
            );
        }
        Ok(all)
    }

    async fn approve(&self, code: &str) -> aethon_core::error::Result<Option<PairedSender>> {
        for channel in NAMES {
            if let Some(sender) = pairing::approve(&*self.records, channel, code).await? {
                return Ok(Some(PairedSender { channel: channel.to_owned(), sender }));
            }
        }
        Ok(None)
    }

    async fn revoke(&self, channel: &str, sender: &str) -> aethon_core::error::Result<bool> {
        pairing::revoke(&*self.records, channel, sender).await
    }
}

/// A channel according to the configuration, in the fields of `GET /api/channels`, for programs that run no channels.
#[derive(Debug, Clone, Serialize)]
pub struct ConfiguredChannel {
    name: &'static str,
    enabled: bool,
    state: ChannelState,
    detail: String,
    account: Option<String>,
    last_inbound: Option<Timestamp>,
    last_outbound: Option<Timestamp>,
    pending: u64,
}

impl Prepared {
    /// The channels according to the configuration, for programs that run none.
    pub fn channels(&self) -> Vec<ConfiguredChannel> {
        let webchat = ("webchat", self.config.channels.webchat.enabled);
        let messengers = NAMES.iter().map(|name| (*name, messengers::is_enabled(&self.config, name)));
        let row = |(name, enabled)| ConfiguredChannel {
            name,
            enabled,
            state: ChannelState::Off,
            detail: match enabled {
                true => "no aethon-server runs on this home".to_owned(),
                false => format!("set channels.{name}.enabled"),
            },
            account: None,
            last_inbound: None,
            last_outbound: None,
            pending: 0,
        };
        std::iter::once(webchat).chain(messengers).map(row).collect()
    }
}

fn known(name: &str) -> Result<()> {
    if NAMES.contains(&name) {
        return Ok(());
    }
    Err(Error::refused(format!(
        "there is no channel {name:?} that can be paired; there are: {}",
        NAMES.join(", ")
    )))
}
