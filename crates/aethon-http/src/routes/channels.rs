//! `/api/channels`: the channels and their health, including those that are switched off.

use std::collections::BTreeMap;

use aethon_core::channel::{ChannelHealth, ChannelState, ChannelStatus, DeliveryState};
use aethon_core::time;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::deps::{Activity, Setup};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The channel of the pages.
const WEBCHAT: &str = "webchat";

/// How many waiting deliveries are counted by channel.
const MAX_COUNTED: usize = 1000;

/// The channels.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Channels")]
pub(super) struct Told {
    channels: Vec<Listed>,
}

/// A channel.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Channel")]
pub(super) struct Listed {
    name: String,
    enabled: bool,
    /// Whether the configuration has turned it on since the start, so that it runs from the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_waiting: bool,
    #[schemars(extend("enum" = ["running", "connecting", "degraded", "off"]))]
    state: &'static str,
    detail: String,
    account: Option<String>,
    #[schemars(with = "Option<Timestamp>")]
    last_inbound: Option<String>,
    #[schemars(with = "Option<Timestamp>")]
    last_outbound: Option<String>,
    pending: usize,
}

/// `GET /api/channels`.
pub(super) async fn list((setup, activity): (Setup, Activity), _request: Request) -> HandlerResult {
    let waiting = activity.outbox.undelivered(DeliveryState::Waiting, MAX_COUNTED).await?;
    let mut pending: BTreeMap<&str, usize> = BTreeMap::new();
    for record in &waiting.deliveries {
        *pending.entry(&record.delivery.content.channel).or_default() += 1;
    }
    let on_file = setup.config.on_file().await.map(|file| file.config).unwrap_or_default();
    let is_on_file = |name: &str| on_file["channels"][name]["enabled"] == true;
    let known: Vec<&str> = std::iter::once(WEBCHAT).chain(setup.messengers.iter().copied()).collect();
    // One that runs and is not in the configuration belongs to an embedder.
    let others = setup.channels.names().filter(|name| !known.contains(name));
    let channels = known
        .iter()
        .copied()
        .chain(others)
        .map(|name| {
            let health = setup.channels.health(name);
            let status = setup.channels.status(name).unwrap_or_default();
            let is_waiting = health.is_none() && is_on_file(name);
            let (state, detail) = match is_waiting {
                true => ("off", "it is set up, and runs when Aethon starts again".to_owned()),
                false => told(name, health.as_ref(), &status),
            };
            Listed {
                name: name.to_owned(),
                enabled: health.is_some(),
                is_waiting,
                state,
                detail,
                account: Some(status.account).filter(|account| !account.is_empty()),
                last_inbound: status.last_inbound.map(time::text),
                last_outbound: status.last_outbound.map(time::text),
                pending: pending.get(name).copied().unwrap_or_default(),
            }
        })
        .collect();
    response::json(&Told { channels })
}

/// Returns the state in one word, and the details.
fn told(name: &str, health: Option<&ChannelHealth>, status: &ChannelStatus) -> (&'static str, String) {
    match health {
        None => ("off", format!("set channels.{name}.enabled to use it")),
        Some(ChannelHealth::Waiting) => ("connecting", "it starts".to_owned()),
        Some(ChannelHealth::Running) => (status.state.as_str(), status.detail.clone()),
        Some(ChannelHealth::Restarting { error, failures, at }) => {
            let times = if *failures == 1 { "once".to_owned() } else { format!("{failures} times in a row") };
            let at = time::text(*at);
            ("degraded", format!("{error}; it failed {times} and is started again at {at}"))
        }
        // A channel that gave up states why.
        Some(ChannelHealth::Ended) if status.state == ChannelState::Degraded => {
            (status.state.as_str(), status.detail.clone())
        }
        Some(ChannelHealth::Ended) => {
            ("off", "it has ended; restart the server to start it again".to_owned())
        }
    }
}
