//! Checks the channels: what to bind, whom to trust, and what a messenger needs to run.

use aethon_core::messenger::Streaming;

use super::{address, household};
use crate::echo::quoted;
use crate::path::{KeyPath, Step};
use crate::remark::Remarks;
use crate::schema::{Channels, Config, Email, MESSENGERS, Messenger, SecretKey, WhatsApp};

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
    let allowed = "an address or network such as 10.0.0.0/8, or \"unix\" for what connects to the socket";
    let is_proxy = |text: &str| text == "unix" || address::is_network(text);
    each(&key, &config.server.trusted_proxies, remarks, is_proxy, allowed);
    let allowed = "an address or network such as 10.0.0.0/8";
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
            remarks.problem(key, quoted(owner), household::sender_form());
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
    let channels = &config.channels;
    for messenger in MESSENGERS.iter().filter(|messenger| messenger.has_api) {
        let key = KeyPath::of(["channels", messenger.name, "api_base"]);
        address::service(key, (messenger.section)(channels).shared().api_base, remarks);
    }
    for messenger in MESSENGERS {
        let streaming = (messenger.section)(channels).shared().streaming;
        if let (Some(streaming), Some(own)) = (streaming, messenger.streaming) {
            streams(messenger.name, streaming, own, remarks);
        }
    }
    for messenger in MESSENGERS.iter().filter(|messenger| messenger.is_enabled(channels)) {
        needed(messenger, channels, remarks);
    }
    whatsapp(&channels.whatsapp, remarks);
    email(&channels.email, remarks);
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

/// Warns of missing secrets. Like a missing model key they do not stop the service: the channel says what to set.
fn needed(messenger: &Messenger, channels: &Channels, remarks: &mut Remarks) {
    let section = (messenger.section)(channels);
    let needed = |known: &SecretKey| known.is_needed && section.needs(known.key);
    for (known, secret) in messenger.secrets(channels) {
        if needed(known) && secret.is_empty() {
            let key = KeyPath::of(["channels", messenger.name, known.key]);
            remarks.warning(key, "empty: the channel is enabled and cannot run without it");
        }
    }
}
