//! Reports which credential and start-up places are open, and to whom.

use std::path::{Path, PathBuf};

use aethon_core::sandbox::Sandbox;
use aethon_tools::{Protection, SocketProtection, opened_places};

use crate::finding::Finding;
use crate::prepared::Prepared;
use crate::wiring;

/// How many places are named at most.
const MAX_NAMED: usize = 12;

/// Reports which protected places are open, and why.
pub(crate) fn findings(prepared: &Prepared) -> Vec<Finding> {
    let options = wiring::tool_options::options(prepared);
    let opened = opened_places(&options);
    let mut findings = Vec::new();
    if options.user_home.is_none() && options.places.account_home.is_none() {
        let message =
            "no home directory is known: tools and commands reach the workspace, and read the system";
        findings.push(Finding::warning("places", message, "set HOME for the service"));
    }
    let home = options.user_home.as_deref().or(options.places.account_home.as_deref());
    for (places, can) in [
        (&opened.credentials, "read and change credentials in"),
        (&opened.start_up, "change start-up places, which programs obey later:"),
    ] {
        if !places.is_empty() {
            let message =
                format!("security.allowed_paths lets tools and commands {can} {}", named(places, home));
            findings.push(Finding::warning("places", message, "remove entries that you do not need"));
        }
    }
    if !opened.names.is_empty() {
        let message = format!("security.allowed_paths opens files by name: {}", opened.names.join(", "));
        findings.push(Finding::ok("places", message));
    }
    let is_open_to_commands =
        prepared.config.security.sandbox == Sandbox::None && !Protection::of_this_machine().files;
    if is_open_to_commands {
        let message = "on this machine commands can read credential places and change start-up places (~/.ssh, \
                       ~/.bashrc, autostart); file tools cannot";
        let fix = "run a kernel with Landlock enabled, or set security.sandbox = \"docker\"";
        findings.push(Finding::warning("places", message, fix));
    }
    findings.extend(sockets(prepared));
    if findings.is_empty() {
        let message = "credential places are closed, and start-up places are closed for writing";
        findings.push(Finding::ok("places", message));
    }
    findings
}

/// Says which sockets that are keys commands can connect to, if any.
fn sockets(prepared: &Prepared) -> Option<Finding> {
    let security = &prepared.config.security;
    if security.sandbox != Sandbox::None {
        return None;
    }
    let fix = "set security.sandbox = \"kernel\" or \"docker\", which close them, or run Linux 7.1";
    let sockets = "sockets of ssh-agent, gpg-agent, docker, D-Bus and the desktop";
    match SocketProtection::of_this_machine() {
        SocketProtection::Rule | SocketProtection::Cover if security.allowed_sockets.is_empty() => None,
        SocketProtection::Rule | SocketProtection::Cover => {
            let opened = security.allowed_sockets.join(", ");
            Some(Finding::ok("places", format!("security.allowed_sockets opens to commands: {opened}")))
        }
        SocketProtection::Strangers if !security.allowed_sockets.is_empty() => {
            let message = format!(
                "this machine closes all sockets or none: because security.allowed_sockets opens one, the commands of every turn \
                 can connect to {sockets}"
            );
            Some(Finding::warning("places", message, fix))
        }
        SocketProtection::Strangers => {
            let message = format!(
                "on this machine the commands of your own turns can connect to {sockets}; those of other turns cannot"
            );
            Some(Finding::warning("places", message, fix))
        }
        SocketProtection::None => Some(Finding::warning(
            "places",
            format!("on this machine commands can connect to {sockets}"),
            fix,
        )),
    }
}

/// Names the first of these places.
fn named(places: &[PathBuf], home: Option<&Path>) -> String {
    let shown = |place: &PathBuf| match home.and_then(|home| place.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => place.display().to_string(),
    };
    let mut names: Vec<String> = places.iter().take(MAX_NAMED).map(shown).collect();
    if places.len() > MAX_NAMED {
        names.push(format!("{} more", places.len() - MAX_NAMED));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_below_the_home_and_not_all_of_them() {
        let places: Vec<PathBuf> = (0..14).map(|number| format!("/home/ada/.{number}").into()).collect();
        let text = named(&places, Some(Path::new("/home/ada")));
        assert!(text.starts_with("~/.0, ~/.1") && text.ends_with("~/.11, 2 more"), "{text}");
        assert_eq!(named(&["/srv/x".into()], Some(Path::new("/home/ada"))), "/srv/x");
    }
}
