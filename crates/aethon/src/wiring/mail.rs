//! `[channels.email]` to the channel for mail.

use std::time::Duration;

use aethon_channels::email::{self, Options, Server, TokenSource};
use aethon_channels::{Messenger, Rules, Surroundings};
use aethon_config::Config;
use aethon_config::schema::Email;
use aethon_core::messenger::{GroupMode, Streaming};
use aethon_core::program::Program;

use super::messengers::{Around, common};

/// The channel's name.
pub(super) const NAME: &str = "email";

pub(super) fn channel(config: &Config, around: &Around) -> Option<Messenger> {
    let section = &config.channels.email;
    let host = |host: &String| if host.is_empty() { section.api_base.clone() } else { host.clone() };
    let options = Options {
        imap: Server { host: host(&section.imap_host), port: section.imap_port },
        smtp: Server { host: host(&section.smtp_host), port: section.smtp_port },
        tls: section.tls,
        username: section.username.clone(),
        password: section.password.clone(),
        tokens: tokens(section, &around.surroundings),
        from: section.from.clone(),
        authserv_id: section.authserv_id.clone(),
        trust_from: section.trust_from,
        poll: Duration::from_secs(section.poll_seconds),
        folder: section.folder.clone(),
    };
    // A mail cannot be changed, so a reply is sent when it is whole.
    let common = common!(section, GroupMode::Off, Streaming::Off);
    let rules = common.rules(NAME, config, around);
    let rules = Rules { owners: rules.owners.map(lowered), ..rules };
    Some(email::channel(options, rules, around.surroundings.clone()))
}

/// A list of addresses as senders come.
pub(super) fn lowered(list: Vec<String>) -> Vec<String> {
    list.into_iter().map(|entry| entry.trim().to_lowercase()).collect()
}

/// What the account signs in by in place of a password, if anything.
fn tokens(section: &Email, around: &Surroundings) -> Option<TokenSource> {
    let Some((command, args)) = section.oauth_command.split_first() else {
        return (!section.oauth_token.is_empty()).then(|| TokenSource::Given(section.oauth_token.clone()));
    };
    // It reads what its owner keeps for it, which no sandbox shows it.
    let program =
        Program { command: command.clone(), args: args.to_vec(), environment: Vec::new(), sandbox: None };
    Some(TokenSource::Command { program, programs: around.programs.clone() })
}
