//! Checks entries with owner-chosen names (jobs, MCP servers, prices), and the sandbox.

use aethon_core::jiff::Timestamp;
use aethon_core::jiff::tz::TimeZone;
use aethon_core::schedule::{Cron, JobId, zone};
use aethon_core::sop::SopName;

use super::address;
use crate::echo::{quoted, shown};
use crate::path::{KeyPath, Step};
use crate::remark::Remarks;
use crate::schema::{Config, Job, McpOauth, McpServer};

/// The highest accepted price of a million tokens in USD: a dollar per token. Anything above is a typing error.
const MAX_PRICE: f64 = 1e6;

/// The maximum number of retries of a job.
const MAX_RETRIES: u32 = 10;

/// Describes valid prices.
const PRICES: &str = "a price in USD per million tokens, not below 0 and at most 1000000";

pub(super) fn check(config: &Config, remarks: &mut Remarks) {
    for (name, entry) in &config.scheduler.jobs {
        job(name, &KeyPath::of(["scheduler", "jobs", name]), entry, remarks);
    }
    for (name, server) in &config.mcp.servers {
        mcp_server(name, server, remarks);
    }
    for (name, server) in &config.lsp.servers {
        let key = KeyPath::of(["lsp", "servers", name]);
        if server.command.trim().is_empty() {
            remarks.problem(key.key("command"), "nothing", "a program");
        }
        if server.extensions.iter().all(|ending| ending.trim_matches(['.', ' ']).is_empty()) {
            remarks.problem(
                key.key("extensions"),
                "nothing",
                "the extensions of its files, such as [\"py\"]",
            );
        }
    }
    for (model, price) in &config.budget.pricing {
        let prices = [
            ("input", Some(price.input)),
            ("output", Some(price.output)),
            ("cached_input", price.cached_input),
            ("cache_write", price.cache_write),
        ];
        for (name, price) in prices {
            // NaN is in no range.
            if let Some(price) = price.filter(|price| !(0.0..=MAX_PRICE).contains(price)) {
                let key = KeyPath::of(["budget", "pricing", model, name]);
                remarks.problem(key, price.to_string(), PRICES);
            }
        }
    }
    sandbox(config, remarks);
}

fn job(name: &str, key: &KeyPath, job: &Job, remarks: &mut Remarks) {
    if JobId::parse(name).is_err() {
        remarks.problem(
            key.clone(),
            format!("the name {:?}", shown(name)),
            "1 to 64 letters, digits, `-`, `_` and `.`",
        );
    }
    match zone(job.timezone.as_deref()) {
        Err(_) => {
            let found = quoted(job.timezone.as_deref().unwrap_or_default());
            remarks.problem(
                key.key("timezone"),
                found,
                "the IANA name of a time zone, such as Europe/Berlin",
            );
        }
        Ok(zone) => cron(key.key("cron"), &job.cron, &zone, remarks),
    }
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
    if !is_set(&job.sop_name) && !is_set(&job.prompt) {
        remarks.problem(key.clone(), "neither sop_name nor prompt", "sop_name, prompt, or both");
    }
    if job.sop_name.as_deref().is_some_and(|name| !name.is_empty() && SopName::parse(name).is_err()) {
        remarks.problem(
            key.key("sop_name"),
            quoted(job.sop_name.as_deref().unwrap_or_default()),
            "up to 64 of a-z, 0-9 and -",
        );
    }
    if job.retries > MAX_RETRIES {
        let allowed = format!("a number from 0 to {MAX_RETRIES}");
        remarks.problem(key.key("retries"), job.retries.to_string(), allowed);
    }
}

/// Describes the fault of an expression. The reason quotes it.
fn unreadable(text: &str, why: &str) -> String {
    format!("{} ({})", quoted(text), why.replace(text.trim(), shown(text.trim())))
}

pub(super) fn cron(key: KeyPath, text: &str, zone: &TimeZone, remarks: &mut Remarks) {
    const ALLOWED: &str = "five cron fields such as \"0 8 * * 1-5\", or @daily";
    if text.trim().is_empty() {
        return remarks.problem(key, "nothing", ALLOWED);
    }
    match Cron::parse(text) {
        Err(error) => remarks.problem(key, unreadable(text, &error.to_string()), ALLOWED),
        // Whether the job ever runs does not depend on where the search begins.
        Ok(cron) if cron.next_after(Timestamp::UNIX_EPOCH, zone).is_none() => {
            remarks.problem(
                key,
                format!("{}, which never occurs", quoted(text)),
                "an expression that occurs",
            );
        }
        Ok(_) => {}
    }
}

fn mcp_server(name: &str, server: &McpServer, remarks: &mut Remarks) {
    let key = KeyPath::of(["mcp", "servers", name]);
    // Models accept no other characters in tool names, and `__` separates server from tool.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > 32 || name.contains("__") || !name.bytes().all(is_name) {
        let allowed =
            "a name of up to 32 letters, digits, - and _ (no __), which becomes the prefix of its tools";
        remarks.problem(key.clone(), format!("the name {:?}", shown(name)), allowed);
    }
    for (name, text) in [("image", &server.image), ("network", &server.network)] {
        if let Some(text) = text.as_deref().filter(|text| !is_dockers(text)) {
            let found = quoted(text);
            remarks.problem(key.key(name), found, "a Docker name without spaces that does not begin with -");
        }
    }
    let command = server.command.as_deref().unwrap_or_default();
    let url = server.url.as_deref().unwrap_or_default();
    match (command.trim().is_empty(), url.trim().is_empty()) {
        (true, true) => remarks.problem(key, "neither command nor url", "one of them"),
        (false, false) => remarks.problem(key, "both command and url", "one of them"),
        (true, false) => {
            address::service(key.key("url"), url, remarks);
            mcp_oauth(&key.key("oauth"), &server.oauth, remarks);
        }
        (false, true) => {}
    }
}

fn mcp_oauth(key: &KeyPath, oauth: &McpOauth, remarks: &mut Remarks) {
    if let Some(issuer) = oauth.issuer.as_deref() {
        address::service(key.key("issuer"), issuer, remarks);
    }
    let has_id = oauth.client_id.as_deref().is_some_and(|id| !id.trim().is_empty());
    if !oauth.client_secret.is_empty() && !has_id {
        remarks.problem(key.key("client_id"), "nothing", "the id that the client_secret belongs to");
    }
    let has_issuer = oauth.issuer.as_deref().is_some_and(|issuer| !issuer.trim().is_empty());
    if !oauth.client_secret.is_empty() && !has_issuer {
        // Otherwise the MCP server would say who gets the secret.
        let remedy = "the address of the authorization server that the client_secret is for, such as https://login.example";
        remarks.problem(key.key("issuer"), "nothing", remedy);
    }
    for (index, scope) in oauth.scopes.iter().enumerate() {
        if scope.is_empty() || !scope.bytes().all(|byte| byte.is_ascii_graphic()) {
            let key = key.key("scopes").join(Step::Index(index));
            remarks.problem(key, quoted(scope), "one scope, without blanks");
        }
    }
}

/// Returns whether Docker can have an object of this name. A leading dash would be parsed as an option.
fn is_dockers(name: &str) -> bool {
    !(name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace))
}

fn sandbox(config: &Config, remarks: &mut Remarks) {
    let security = &config.security;
    let key = KeyPath::of(["security"]);
    if !is_memory(&security.sandbox_memory) {
        let found = quoted(&security.sandbox_memory);
        remarks.problem(key.key("sandbox_memory"), found, "a size such as 512m or 2g");
    }
    for (name, text) in
        [("sandbox_image", &security.sandbox_image), ("sandbox_network", &security.sandbox_network)]
    {
        if !is_dockers(text) {
            remarks.problem(
                key.key(name),
                quoted(text),
                "a Docker name without spaces that does not begin with -",
            );
        }
    }
    for (index, entry) in security.blocked_commands.iter().enumerate() {
        if entry.trim().is_empty() {
            let key = key.key("blocked_commands").join(Step::Index(index));
            remarks.problem(key, "nothing, which every command contains", "part of a command");
        }
    }
}

fn is_memory(text: &str) -> bool {
    let digits = text.trim_end_matches(|last: char| "bkmgBKMG".contains(last));
    text.len() - digits.len() <= 1 && digits.parse::<u64>().is_ok_and(|number| number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_with_a_unit() {
        let check = |text: &str, expected: bool| assert_eq!(is_memory(text), expected, "{text:?}");
        check("512m", true);
        check("2G", true);
        check("1048576", true);
        check("0", false);
        check("", false);
        check("m", false);
        check("5mm", false);
        check("-5m", false);
        check("1.5g", false);
    }
}
