//! Builds the mail channel from `[channels.email]`.

use std::time::Duration;

use aethon_channels::email::{self, Options, Server, TokenSource};
use aethon_channels::{ChannelServices, Messenger, Rules};
use aethon_config::Config;
use aethon_config::schema::Email;
use aethon_core::program::Program;

use super::messenger_parts::{EMAIL, MessengerDeps, rules};

pub(super) fn channel(config: &Config, deps: &MessengerDeps) -> Option<Messenger> {
    let section = &config.channels.email;
    let host = |host: &String| if host.is_empty() { section.api_base.clone() } else { host.clone() };
    let options = Options {
        imap: Server { host: host(&section.imap_host), port: section.imap_port },
        smtp: Server { host: host(&section.smtp_host), port: section.smtp_port },
        tls: section.tls,
        username: section.username.clone(),
        password: section.password.clone(),
        tokens: tokens(section, &deps.services),
        from: section.from.clone(),
        authserv_id: section.authserv_id.clone(),
        trust_from: section.trust_from,
        poll: Duration::from_secs(section.poll_seconds),
        folder: section.folder.clone(),
    };
    let rules = rules(EMAIL, section, config, deps);
    let rules = Rules {
        owners: rules.owners.map(|list| list.iter().map(|owner| email::canonical(owner)).collect()),
        ..rules
    };
    Some(email::channel(options, rules, deps.services.clone()))
}

/// The source of access tokens, if the account signs in with them instead of a password.
fn tokens(section: &Email, services: &ChannelServices) -> Option<TokenSource> {
    let Some((command, args)) = section.oauth_command.split_first() else {
        return (!section.oauth_token.is_empty()).then(|| TokenSource::Given(section.oauth_token.clone()));
    };
    // The program reads credentials that its owner keeps, and that no sandbox shows it.
    let program =
        Program { command: command.clone(), args: args.to_vec(), environment: Vec::new(), sandbox: None };
    Some(TokenSource::Command { program, programs: services.programs.clone() })
}
