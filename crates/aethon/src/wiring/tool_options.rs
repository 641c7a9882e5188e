//! The access of tools and commands to the machine, from `[security]`, `[tools]` and the home.

use std::time::Duration;

use aethon_config::Config;
use aethon_tools::{DesktopOptions, Options, SandboxLimits, ShellOptions};

use crate::prepared::Prepared;

/// The access of tools to files, commands and the network.
pub(crate) fn options(prepared: &Prepared) -> Options {
    let home = &prepared.home;
    let kept = [home.recordings(), home.logs(), home.outputs(), home.changes()];
    let own = [home.config(), home.database(), home.credentials(), home.run(), home.tools()];
    let own = own.into_iter().chain(kept);
    let (webchat, security) = (&prepared.config.channels.webchat, &prepared.config.security);
    let mut options = Options::default();
    options.home = Some(home.path().to_owned());
    options.workspace = home.workspace();
    options.user_home = prepared.flags.user_home.clone();
    options.places.account_home = prepared.flags.account_home.clone();
    options.places.variables = prepared.flags.place_variables.clone();
    options.workspace_only = security.workspace_only;
    // A backup contains the home.
    let backups = crate::backup::folder(&prepared.config.backup, home);
    options.own = own.chain(prepared.file.clone()).chain([backups]).collect();
    options.places.blocked = security.blocked_paths.clone();
    options.places.allowed = security.allowed_paths.clone();
    options.places.allowed_sockets = security.allowed_sockets.clone();
    options.places.socket_variables = prepared.flags.socket_variables.clone();
    options.port = webchat.tcp_port().filter(|_| webchat.enabled);
    options.address_file = Some(home.address_file());
    options.shell = shell(prepared);
    options.docker = prepared.shared.docker.clone();
    let map = &prepared.config.repo_map;
    options.map_chars = if map.enabled { map.max_chars } else { 0 };
    options.commands = prepared.shared.commands.clone();
    options.desktop = desktop(prepared);
    options.web = super::web::options(&prepared.config);
    options
}

/// Access to the user's desktop: the variables that locate it, as they were at startup.
fn desktop(prepared: &Prepared) -> DesktopOptions {
    let mut options = DesktopOptions::default();
    options.path = prepared.flags.path.clone();
    options.variables = prepared.flags.desktop_variables.clone();
    options
}

/// The environment of commands: that of the user's own shell, and nothing else from this program.
fn shell(prepared: &Prepared) -> ShellOptions {
    let mut options = ShellOptions::default();
    let (config, flags) = (&prepared.config, &prepared.flags);
    let longest = Duration::from_secs(config.agent.turn_timeout_seconds);
    options.sandbox = config.security.sandbox;
    options.limits = limits(config);
    options.launcher = flags.launcher.clone();
    options.timeout = options.timeout.min(longest);
    options.max_timeout = longest;
    options.home = flags.user_home.clone();
    options.path = flags.path.clone();
    options.lang = flags.lang.clone();
    options.tmpdir = flags.tmpdir.clone();
    options
}

/// The limits of a sandbox.
pub(crate) fn limits(config: &Config) -> SandboxLimits {
    let security = &config.security;
    let mut limits = SandboxLimits::default();
    limits.image = security.sandbox_image.clone();
    limits.memory = bytes(&security.sandbox_memory).unwrap_or(limits.memory);
    limits.cpus = security.sandbox_cpus;
    limits.processes = security.sandbox_pids_limit;
    limits.network = security.sandbox_network.clone();
    limits
}

/// Parses a size such as `512m` into bytes.
fn bytes(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        'k' | 'K' => 1 << 10,
        'm' | 'M' => 1 << 20,
        'g' | 'G' => 1 << 30,
        _ => 1,
    };
    let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_their_units() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(bytes(text), expected, "{text:?}");
        check("512m", Some(512 << 20));
        check("2G", Some(2 << 30));
        check("64k", Some(64 << 10));
        check("1048576", Some(1 << 20));
        check("100b", Some(100));
        check("", None);
    }
}
