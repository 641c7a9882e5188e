//! The unit of a systemd user manager.
//!
//! The daemon reports when it is ready, and a refusal to start (status 2) is not repeated: only a person can mend it. The walls
//! keep it, and every command that it runs, from the kernel and from gaining rights; they leave your files, the network and the
//! sandboxes for commands as they are.

use super::unit::{MARK, Unit};

/// The name of the unit.
pub(super) const NAME: &str = "aethon.service";

/// The settings that close what neither the daemon nor its commands need.
const WALLS: &str = "\
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
UMask=0077
PrivateDevices=yes
DevicePolicy=closed
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=full
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=user mnt pid net ipc uts
SystemCallArchitectures=native
SystemCallFilter=@system-service @mount landlock_create_ruleset landlock_add_rule landlock_restrict_self
SystemCallErrorNumber=EPERM
KeyringMode=private
";

/// Returns the text of the unit.
pub(super) fn text(unit: &Unit) -> String {
    let words = std::iter::once(unit.program.display().to_string()).chain(unit.arguments.iter().cloned());
    let command: Vec<String> = words.map(|word| quoted(&word)).collect();
    format!(
        "# {MARK}, which replaces it when it runs again.
# Settings of your own: systemctl --user edit aethon
[Unit]
Description=Aethon, your assistant
Documentation=man:aethon-server(1)
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=2
# 2: refused to start, for a reason that stays until somebody changes it.
RestartPreventExitStatus=2
TimeoutStartSec=600
TimeoutStopSec={stop}
KillMode=mixed
Delegate=memory
{WALLS}
[Install]
WantedBy=default.target
",
        command = command.join(" "),
        stop = unit.stop_seconds,
    )
}

/// Quotes a word of a command line as systemd reads it.
fn quoted(word: &str) -> String {
    let plain = word.replace('%', "%%").replace('$', "$$");
    let is_simple = |c: char| c.is_alphanumeric() || "/._-+=:@%$,".contains(c);
    if !plain.is_empty() && plain.chars().all(is_simple) {
        return plain;
    }
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_starts_this_program_and_stops_after_a_refusal() {
        let unit = Unit {
            program: "/opt/my tools/aethon-server".into(),
            arguments: vec!["--home".into(), "/home/a/100% \"own\"".into()],
            home: "/home/a/.aethon".into(),
            stop_seconds: 43,
        };
        let text = text(&unit);
        let line = "ExecStart=\"/opt/my tools/aethon-server\" --home \"/home/a/100%% \\\"own\\\"\"\n";
        assert!(text.contains(line), "{text}");
        for line in [
            "Type=notify\n",
            "RestartPreventExitStatus=2\n",
            "TimeoutStopSec=43\n",
            "WantedBy=default.target\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(text.starts_with(&format!("# {MARK}")));
    }

    #[test]
    fn words_are_quoted_where_needed() {
        let check = |word: &str, expected: &str| assert_eq!(quoted(word), expected);
        check("/usr/bin/aethon-server", "/usr/bin/aethon-server");
        check("$HOME", "$$HOME");
        check("", "\"\"");
        check("a\\b", "\"a\\\\b\"");
    }
}
