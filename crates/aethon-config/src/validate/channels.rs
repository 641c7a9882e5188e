//! Checks the channels: what to bind, whom to trust, and what a messenger needs to run.

use aethon_core::messenger::Streaming;
use aethon_core::secret::Secret;

use super::{address, household};
use crate::echo::quoted;
use crate::path::{KeyPath, Step};
use crate::remark::Remarks;
use crate::schema::{Config, Email, WhatsApp};

pub(super) fn check(config: &Config, remarks: &mut Remarks) {
    let webchat = &config.channels.webchat;
    let key = KeyPath::of(["channels", "webchat"]);
    if !address::is_host(&webchat.host) {
        let found = quoted(&webchat.host);
        remarks.problem(key.key("host"), found, "an address or host name without port, such as 127.0.0.1");
    }
    if webchat.enabled && webchat.port == -1 && webchat.socket.trim().is_empty() {
        let allowed = "a port; -1 is for serving on `channels.webchat.socket` only, which is empty";
        remarks.problem(key.key("port"), webchat.port.to_string(), allowed);
    }
    each(
        &key.key("allowed_hosts"),
        &webchat.allowed_hosts,
        remarks,
        address::is_host,
        "a host name without port",
    );
    each(
        &key.key("allowed_origins"),
        &webchat.allowed_origins,
        remarks,
        address::is_origin,
        "an origin such as https://home.example, without path or wildcard",
    );
    let base = config.server.base_path.as_str();
    if !address::is_base_path(base) {
        let allowed = "empty, or a path such as \"/aethon\": plain letters and digits, no slash at the end, and no address of the \
                       service itself, such as /api, at its beginning";
        remarks.problem(KeyPath::of(["server", "base_path"]), quoted(base), allowed);
    }
    let key = KeyPath::of(["server", "trusted_proxies"]);
    let allowed = "an address or network such as 10.0.0.0/8";
    each(&key, &config.server.trusted_proxies, remarks, address::is_network, allowed);
    let key = KeyPath::of(["server", "health_from"]);
    each(&key, &config.server.health_from, remarks, address::is_network, allowed);
    messengers(config, remarks);
    owners(&config.security.owners, remarks);
}

/// Checks the form of the owners. A misspelt entry matches no sender, which can leave the assistant without an owner.
fn owners(owners: &[String], remarks: &mut Remarks) {
    for (index, owner) in owners.iter().enumerate() {
        // Ids are compared exactly.
        if household::split(owner).is_none_or(|(_, id)| id.trim() != id) {
            let key = KeyPath::of(["security", "owners"]).join(Step::Index(index));
            remarks.problem(key, quoted(owner), household::SENDER);
        }
    }
}

fn each(key: &KeyPath, items: &[String], remarks: &mut Remarks, is_right: fn(&str) -> bool, allowed: &str) {
    for (index, item) in items.iter().enumerate() {
        if !is_right(item) {
            remarks.problem(key.join(Step::Index(index)), quoted(item), allowed);
        }
    }
}

fn messengers(config: &Config, remarks: &mut Remarks) {
    let all = &config.channels;
    let (telegram, discord, slack) = (&all.telegram, &all.discord, &all.slack);
    let (whatsapp, matrix, email) = (&all.whatsapp, &all.matrix, &all.email);
    bot("telegram", &telegram.api_base, remarks);
    bot("discord", &discord.api_base, remarks);
    bot("slack", &slack.api_base, remarks);
    bot("whatsapp", &whatsapp.api_base, remarks);
    bot("matrix", &matrix.api_base, remarks);
    streams("telegram", telegram.streaming, &[Streaming::Draft], remarks);
    streams("discord", discord.streaming, &[], remarks);
    streams("slack", slack.streaming, &[Streaming::Native], remarks);
    streams("matrix", matrix.streaming, &[], remarks);
    required("telegram", "token", telegram.enabled, &telegram.token, remarks);
    required("discord", "token", discord.enabled, &discord.token, remarks);
    required("slack", "bot_token", slack.enabled, &slack.bot_token, remarks);
    required("slack", "app_token", slack.enabled, &slack.app_token, remarks);
    required("whatsapp", "token", whatsapp.enabled, &whatsapp.token, remarks);
    required("whatsapp", "secret", whatsapp.enabled, &whatsapp.secret, remarks);
    required("matrix", "token", matrix.enabled, &matrix.token, remarks);
    let has_tokens = !email.oauth_command.is_empty() || !email.oauth_token.is_empty();
    required("email", "password", email.enabled && !has_tokens, &email.password, remarks);
    self::whatsapp(whatsapp, remarks);
    self::email(email, remarks);
}

fn whatsapp(whatsapp: &WhatsApp, remarks: &mut Remarks) {
    let section = KeyPath::of(["channels", "whatsapp"]);
    let version = whatsapp.api_version.trim_matches('/');
    let is_version = version.strip_prefix('v').is_some_and(|number| number.parse::<f32>().is_ok());
    if !version.is_empty() && !is_version {
        let found = quoted(&whatsapp.api_version);
        remarks.problem(section.key("api_version"), found, "a version such as v26.0, or nothing");
    }
    if !whatsapp.enabled {
        return;
    }
    if whatsapp.phone_number_id.trim().is_empty() {
        remarks.warning(
            section.key("phone_number_id"),
            "empty: the channel is enabled and cannot run without it",
        );
    }
    remarks.warning(
        section.key("enabled"),
        "Meta's terms bar general-purpose assistants on WhatsApp (numbers of Italy and Brazil were exempt), and can close the number for it",
    );
}

fn email(email: &Email, remarks: &mut Remarks) {
    let section = KeyPath::of(["channels", "email"]);
    for (name, host) in
        [("imap_host", &email.imap_host), ("smtp_host", &email.smtp_host), ("api_base", &email.api_base)]
    {
        if !host.is_empty() && !address::is_host(host) {
            remarks.problem(section.key(name), quoted(host), "a host name without port");
        }
    }
    if email.oauth_command.first().is_some_and(|program| program.trim().is_empty()) {
        let key = section.key("oauth_command").join(Step::Index(0));
        remarks.problem(key, "nothing", "a program, such as \"/usr/local/bin/mail-token\"");
    }
    let has_servers =
        !email.api_base.is_empty() || (!email.imap_host.is_empty() && !email.smtp_host.is_empty());
    if email.enabled && !has_servers {
        remarks.warning(section.key("api_base"), "empty: the channel is enabled and has no mail server");
    }
    let servers = [&email.imap_host, &email.smtp_host, &email.api_base];
    let elsewhere = servers.into_iter().find(|host| !host.is_empty() && !address::is_host_here(host));
    if let Some(host) = elsewhere.filter(|_| !email.tls) {
        let found = format!("false, with the server {host:?}");
        remarks.problem(section.key("tls"), found, "true; plain connections are for servers on this machine");
    }
    let is_address = |text: &str| text.contains('@') && !text.contains(char::is_whitespace);
    if email.enabled && email.from.is_empty() && !is_address(&email.username) {
        remarks.warning(section.key("from"), "empty, and username is no address: replies have no sender");
    }
    match (email.enabled, email.trust_from, email.authserv_id.trim().is_empty()) {
        (true, true, _) => remarks.warning(
            section.key("trust_from"),
            "on: anyone who writes an allowed address into a mail is accepted as that person",
        ),
        (true, false, true) => remarks.warning(
            section.key("authserv_id"),
            "empty: no sender can be proven, and no mail is heard; set it to the name at the beginning of the \
             Authentication-Results that the mail server adds",
        ),
        _ => {}
    }
}

fn bot(name: &str, api_base: &str, remarks: &mut Remarks) {
    address::service(KeyPath::of(["channels", name, "api_base"]), api_base, remarks);
}

/// Rejects streaming modes that only other messengers support; `own` are the extra ones of this messenger.
fn streams(name: &str, streaming: Streaming, own: &[Streaming], remarks: &mut Remarks) {
    let everywhere = [Streaming::Edit, Streaming::Off];
    if everywhere.contains(&streaming) || own.contains(&streaming) {
        return;
    }
    let word = |streaming: &Streaming| format!("{streaming:?}").to_lowercase();
    let allowed: Vec<String> = everywhere.iter().chain(own).map(word).collect();
    let key = KeyPath::of(["channels", name, "streaming"]);
    remarks.problem(key, quoted(&word(&streaming)), format!("one of {}", allowed.join(", ")));
}

/// Warns of a missing token. Like a missing model key it does not stop the service: the channel says what to set.
fn required(name: &str, key: &str, is_enabled: bool, secret: &Secret, remarks: &mut Remarks) {
    if is_enabled && secret.is_empty() {
        let key = KeyPath::of(["channels", name, key]);
        remarks.warning(key, "empty: the channel is enabled and cannot run without it");
    }
}
