//! Looks up the surroundings of a message: whether a role that it mentions is ours, and the earlier messages of
//! its thread.

use std::time::Duration;

use aethon_core::error::Result;
use serde_json::Value;
use tokio::time::Instant;

use super::content::{self, Cards};
use super::inbound;
use super::lookups::{self, ChannelInfo, MAX_REMEMBERED, lock};
use super::platform::Discord;
use crate::talk::{Arrival, Fault, Intake, NO_WORDS, newest_lines, without_marks};

/// How long the roles that we have are remembered.
const REMEMBERED: Duration = Duration::from_secs(600);
/// Threads of announcements, public and private threads.
const THREADS: [u64; 3] = [10, 11, 12];
/// The message from which a thread was begun, repeated at its beginning.
const STARTER: u64 = 21;
/// How many messages of a thread are read.
const PAGE: usize = 20;
/// Discord shows messages only to those whom they mention themselves.
const HIDDEN: &str =
    "Discord shows me messages only if they mention me, not a role of mine. Mention me by my name, please.";

/// Completes an arrival from a server. Returns `None` if nothing is left of it.
pub(super) async fn completed(
    discord: &Discord,
    intake: &Intake,
    (message, us): (&Value, &str),
    mut arrival: Arrival,
) -> Result<Option<Arrival>> {
    if arrival.is_private || !intake.may_write(&arrival.sender).await? {
        return Ok(Some(arrival).filter(|arrival| !arrival.is_blank() || arrival.wordless.is_some()));
    }
    let mentioned = inbound::mentioned_roles(message);
    if !mentioned.is_empty() && !arrival.is_addressed {
        address_by_role(discord, (message, us), &mentioned, &mut arrival).await;
    }
    if arrival.is_blank() && arrival.wordless.is_none() {
        return Ok(None);
    }
    let is_command = arrival.text.starts_with(['/', '!']);
    if arrival.is_addressed && !is_command && is_in_thread(discord, message, &arrival).await {
        arrival.earlier = earlier(discord, intake, us, &arrival).await?;
    }
    Ok(Some(arrival))
}

/// Makes a message one for us if it mentions a role that we have.
async fn address_by_role(
    discord: &Discord,
    (message, us): (&Value, &str),
    mentioned: &[String],
    arrival: &mut Arrival,
) {
    let guild = match inbound::id(&message["guild_id"]) {
        Some(guild) => Some(guild),
        None => channel(discord, &arrival.chat).await.guild,
    };
    let Some(guild) = guild else { return };
    let held = roles(discord, &guild, us).await;
    let ours: Vec<&String> = mentioned.iter().filter(|role| held.contains(role)).collect();
    if ours.is_empty() {
        return;
    }
    arrival.is_addressed = true;
    for role in ours {
        arrival.text = arrival.text.replace(&format!("<@&{role}>"), "");
    }
    arrival.text = without_marks(&arrival.text).trim().to_owned();
    if arrival.is_blank() {
        let is_hidden = message["content"].as_str().is_none_or(str::is_empty);
        arrival.wordless = Some(if is_hidden { HIDDEN } else { NO_WORDS }.to_owned());
    }
}

/// Returns the roles that we have in a server: those of our membership, and the one that belongs to our application.
async fn roles(discord: &Discord, guild: &str, us: &str) -> Vec<String> {
    if let Some((at, roles)) = lock(&discord.lookups().roles).get(guild)
        && at.elapsed() < REMEMBERED
    {
        return roles.clone();
    }
    let ids = |roles: &Value| -> Vec<String> {
        roles.as_array().into_iter().flatten().filter_map(inbound::id).collect()
    };
    let member = look(discord, &format!("/guilds/{guild}/members/{us}")).await;
    let mut roles = member.map(|member| ids(&member["roles"])).unwrap_or_default();
    if roles.is_empty() {
        let all = look(discord, &format!("/guilds/{guild}/roles")).await.unwrap_or_default();
        let managed = all.as_array().into_iter().flatten().filter(|role| role["tags"]["bot_id"] == us);
        roles = managed.filter_map(|role| inbound::id(&role["id"])).collect();
    }
    let mut known = lock(&discord.lookups().roles);
    if known.len() >= MAX_REMEMBERED {
        known.clear();
    }
    known.insert(guild.to_owned(), (Instant::now(), roles.clone()));
    roles
}

/// Returns what kind of channel this is. What cannot be found out counts as none in particular.
async fn channel(discord: &Discord, id: &str) -> ChannelInfo {
    if let Some(known) = lock(&discord.lookups().channels).get(id) {
        return known.clone();
    }
    let found = match lookups::page(discord.api(), &format!("/channels/{id}")).await.map_err(Fault::from) {
        Ok(found) => found,
        // We may not see it, and asking again would not help.
        Err(Fault::Refused(_)) => Value::Null,
        Err(_) => return ChannelInfo::default(),
    };
    let is_thread = found["type"].as_u64().is_some_and(|kind| THREADS.contains(&kind));
    let info = ChannelInfo { guild: inbound::id(&found["guild_id"]), is_thread };
    let mut known = lock(&discord.lookups().channels);
    if known.len() >= MAX_REMEMBERED {
        known.clear();
    }
    known.insert(id.to_owned(), info.clone());
    info
}

/// Returns whether a message is in a thread. Discord may say so with the message.
async fn is_in_thread(discord: &Discord, message: &Value, arrival: &Arrival) -> bool {
    match message["channel_type"].as_u64() {
        Some(kind) => THREADS.contains(&kind),
        None => channel(discord, &arrival.chat).await.is_thread,
    }
}

/// Returns the words of others in a thread since the last message that we took there.
async fn earlier(discord: &Discord, intake: &Intake, us: &str, arrival: &Arrival) -> Result<Option<String>> {
    let last = lookups::last(intake, &arrival.chat).await?;
    let path = format!("/channels/{}/messages?before={}&limit={PAGE}", arrival.chat, arrival.id);
    let Some(page) = look(discord, &path).await else { return Ok(None) };
    let mut messages: Vec<(u64, &Value)> = page
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|message| Some((inbound::id(&message["id"])?.parse().ok()?, message)))
        .filter(|(id, _)| last.is_none_or(|last| *id > last))
        .collect();
    messages.sort_unstable_by_key(|(id, _)| *id);
    let lines = messages.into_iter().filter_map(|(_, message)| {
        let said = match message["type"].as_u64() {
            Some(STARTER) => &message["referenced_message"],
            _ => message,
        };
        let name = said["author"]["username"].as_str().filter(|_| said["author"]["id"] != us)?;
        let words = content::words(said, Cards::Read);
        (!words.is_empty()).then(|| format!("{name}: {words}"))
    });
    Ok(newest_lines(lines))
}

/// Reads something that a message can do without.
async fn look(discord: &Discord, path: &str) -> Option<Value> {
    match lookups::page(discord.api(), path).await {
        Ok(found) => Some(found),
        Err(failure) => {
            let error = Fault::from(failure);
            tracing::debug!(channel = "discord", error = error.message(), "something could not be looked up");
            None
        }
    }
}
