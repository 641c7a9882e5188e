//! `channels list|test|pair|pairings|approve|revoke`: the state of the messengers, and who may write through them.
//!
//! Only the daemon knows their state; everything else is in the configuration and the database, which this program shares with
//! the daemon.

use std::process::ExitCode;
use std::time::Duration;

use aethon::core::audit::AuditAction;
use aethon::core::visible::readable;
use anyhow::Result;
use serde_json::{Value, json};

use super::source::{opened, with_daemon};
use super::{print, print_json, told};
use crate::args::{ChannelsCommand, Common};
use crate::daemon::Finder;

/// The exit status for an unknown channel.
const UNKNOWN: u8 = 2;

pub(crate) async fn run(common: &Common, command: ChannelsCommand) -> Result<ExitCode> {
    let prepared = crate::setup::prepared(common)?;
    if let ChannelsCommand::List { json } = command {
        return list(&prepared, common, json).await;
    }
    let aethon = opened(prepared).await?;
    let done = change(&aethon, command).await;
    aethon.shutdown(Duration::from_secs(2)).await;
    done
}

async fn list(prepared: &aethon::Prepared, common: &Common, as_json: bool) -> Result<ExitCode> {
    let finder = Finder::new(prepared, common.connect.as_deref());
    let running = with_daemon(&finder, async |daemon| daemon.find_json("/api/channels".into()).await).await?;
    let list = running.flatten().unwrap_or_else(|| json!({"channels": prepared.channels()}));
    if as_json {
        print_json(&list)?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = |channel: &Value, key: &str| readable(channel[key].as_str().unwrap_or_default());
    let line = |channel: &Value| {
        let [name, state, account, detail] =
            ["name", "state", "account", "detail"].map(|key| text(channel, key));
        format!("{name:<10} {state:<11} {account} {detail}").trim_end().to_owned() + "\n"
    };
    print(&list["channels"].as_array().into_iter().flatten().map(line).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

async fn change(aethon: &aethon::Aethon, command: ChannelsCommand) -> Result<ExitCode> {
    match command {
        ChannelsCommand::List { .. } => {}
        ChannelsCommand::Test { name, json } => return test(aethon, &name, json).await,
        ChannelsCommand::Pair { name, json } => {
            let code = aethon.pair(&name).await?;
            told(aethon.note(AuditAction::Pairing, &name, "code_made").await);
            if !aethon.is_channel_enabled(&name) {
                eprintln!(
                    "note: {name} is off in this configuration; until channels.{name}.enabled is true, no one can send the code"
                );
            }
            match json {
                true => print_json(&json!(code))?,
                false => print(&format!(
                    "{}\nSend `/pair {}` to the assistant in a private chat within ten minutes.\n",
                    code.code, code.code
                ))?,
            }
        }
        ChannelsCommand::Pairings { json } => {
            let pairings = aethon.pairings().paired().await?;
            let lines =
                pairings.iter().map(|paired| format!("{}  {}\n", paired.channel, readable(&paired.sender)));
            match (json, pairings.is_empty()) {
                (true, _) => print_json(&json!({"pairings": pairings}))?,
                (false, true) => print("no one was paired\n")?,
                (false, false) => print(&lines.collect::<String>())?,
            }
        }
        ChannelsCommand::Approve { code, json } => return approve(aethon, &code, json).await,
        ChannelsCommand::Revoke { name, sender, json } => return revoke(aethon, &name, &sender, json).await,
    }
    Ok(ExitCode::SUCCESS)
}

async fn test(aethon: &aethon::Aethon, name: &str, json: bool) -> Result<ExitCode> {
    let Some(test) = aethon.test_channel(name).await else {
        eprintln!("aethon-cli: there is no channel {name:?} to test; `aethon-cli channels list` lists them");
        return Ok(ExitCode::from(UNKNOWN));
    };
    let mark = |ok| if ok { "ok " } else { "bad" };
    let lines = test
        .checks
        .iter()
        .map(|check| format!("{} {}: {}\n", mark(check.ok), check.id, readable(&check.detail)));
    if json {
        print_json(&json!(test))?
    } else {
        print(&lines.collect::<String>())?
    }
    Ok(if test.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn approve(aethon: &aethon::Aethon, code: &str, json: bool) -> Result<ExitCode> {
    let Some(paired) = aethon.pairings().approve(code).await? else {
        eprintln!("aethon-cli: unknown code; a code works once, for ten minutes");
        return Ok(ExitCode::FAILURE);
    };
    let who = format!("{}/{}", paired.channel, paired.sender);
    told(aethon.note(AuditAction::Pairing, &who, "paired").await);
    match json {
        true => print_json(&json!(paired))?,
        false => print(&format!("{} may write on {}\n", readable(&paired.sender), paired.channel))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn revoke(aethon: &aethon::Aethon, name: &str, sender: &str, json: bool) -> Result<ExitCode> {
    let revoked = aethon.revoke_pairing(name, sender).await?;
    if revoked {
        let who = format!("pairings/{name}/{sender}");
        told(aethon.note(AuditAction::Deletion, &who, "done").await);
    }
    if json {
        print_json(&json!({"revoked": revoked}))?;
    } else if !revoked {
        eprintln!(
            "aethon-cli: {sender:?} is not paired with {name}; `channels pairings` lists who is. Those of security.allowed_senders.{name} are in the configuration"
        );
    }
    Ok(if revoked { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
