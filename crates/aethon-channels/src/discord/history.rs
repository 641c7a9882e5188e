//! Fetches the messages that a lost session missed: those in known chats after the last one that was processed.
//!
//! A resumed session misses nothing. When a session is lost, after a long downtime, each chat is searched. Only chats
//! in which a permitted person talked to us are remembered, so the first start searches nothing.

use serde_json::Value;

use super::lookups::{LAST, PRIVATE, page};
use super::platform::Discord;
use super::{context, inbound};
use crate::talk::{Arrival, Failure, Fault, Intake, Stop};

/// How many chats are searched.
const MAX_CHATS: usize = 200;
/// How many messages Discord returns at a time.
const PAGE: usize = 100;
/// How many pages of a chat are read.
const MAX_PAGES: usize = 10;

/// Passes a message to the intake and stores it as the last of its chat.
pub(super) async fn arrive(
    discord: &Discord,
    intake: &Intake,
    (message, us): (&Value, &str),
    arrival: Arrival,
) -> aethon_core::error::Result<()> {
    let arrival = context::completed(discord, intake, (message, us), arrival).await?;
    let Some(arrival) = arrival else { return Ok(()) };
    let (id, chat) = (arrival.id.clone(), arrival.chat.clone());
    let (is_private, is_for_us) = (arrival.is_private, arrival.is_addressed);
    let is_known = is_for_us && intake.may_write(&arrival.sender).await?;
    intake.arrive(arrival).await?;
    if is_known {
        let value = format!("{id}{}", if is_private { PRIVATE } else { "" });
        intake.records().put("discord", &format!("{LAST}{chat}"), &value, None).await?;
    }
    Ok(())
}

/// Processes the messages that were missed.
pub(super) async fn catch_up(discord: &Discord, intake: &Intake, us: &str) -> Result<(), Stop> {
    for (name, value) in intake.records().list("discord", LAST, MAX_CHATS).await? {
        let Some(chat) = name.strip_prefix(LAST) else { continue };
        let (last, is_private) = match value.strip_suffix(PRIVATE) {
            Some(last) => (last, true),
            None => (value.as_str(), false),
        };
        read_on(discord, intake, us, chat, is_private, last.to_owned()).await?;
    }
    Ok(())
}

async fn read_on(
    discord: &Discord,
    intake: &Intake,
    us: &str,
    chat: &str,
    is_private: bool,
    mut last: String,
) -> Result<(), Stop> {
    for _ in 0..MAX_PAGES {
        let path = format!("/channels/{chat}/messages?after={last}&limit={PAGE}");
        let page = match page(discord.api(), &path).await {
            Ok(page) => page,
            // We are no longer a member.
            Err(Failure::Fault(Fault::Refused(message))) => {
                tracing::debug!(channel = "discord", chat, message, "a chat could not be looked through");
                return Ok(());
            }
            Err(failure) => return Err(failure.into()),
        };
        let mut messages: Vec<(u64, &Value)> = page
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|message| Some((inbound::id(&message["id"])?.parse().ok()?, message)))
            .collect();
        messages.sort_unstable_by_key(|(id, _)| *id);
        for (id, message) in &messages {
            if let Some(arrival) = inbound::arrival(message, us, is_private) {
                arrive(discord, intake, (message, us), arrival).await?;
            }
            last = id.to_string();
        }
        if messages.len() < PAGE {
            break;
        }
    }
    Ok(())
}
