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

/// How the two units of a package begin, and what starts them.
const OF_A_PACKAGE: [(&str, &str, &str); 2] = [
    (
        "user/aethon.service",
        "# For one account: systemctl --user enable --now aethon
# Settings of your own: systemctl --user edit aethon",
        "",
    ),
    (
        "system/aethon@.service",
        "# For an account that nobody signs in to, such as ada: systemctl enable --now aethon@ada
# Settings of your own: systemctl edit aethon@ada",
        "User=%i\n",
    ),
];

/// Returns the text of the unit.
pub(super) fn text(unit: &Unit) -> String {
    let head = format!(
        "# {MARK}, which replaces it when it runs again.\n# Settings of your own: systemctl --user edit aethon"
    );
    with_head(unit, &head)
}

/// Returns the units of a package, each with its path below a folder of units: one for the manager of a user, and one for
/// the manager of the system, which runs the daemon as the account that its instance is named after.
pub(crate) fn of_a_package(program: &str, stop_seconds: u64) -> Vec<(&'static str, String)> {
    let unit =
        Unit { program: program.into(), arguments: Vec::new(), home: "%h/.aethon".into(), stop_seconds };
    let texts = OF_A_PACKAGE.map(|(path, head, user)| {
        let text = with_head(&unit, head);
        if user.is_empty() {
            return (path, text);
        }
        let text = text.replace("Type=notify\n", &format!("Type=notify\n{user}"));
        (path, text.replace("WantedBy=default.target", "WantedBy=multi-user.target"))
    });
    texts.into()
}

fn with_head(unit: &Unit, head: &str) -> String {
    let words = std::iter::once(unit.program.display().to_string()).chain(unit.arguments.iter().cloned());
    let command: Vec<String> = words.map(|word| quoted(&word)).collect();
    format!(
        "{head}
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
    fn units_of_a_package_have_the_same_walls_and_name_their_account() {
        let units = of_a_package("/usr/bin/aethon-server", 45);
        let names: Vec<_> = units.iter().map(|(path, _)| *path).collect();
        assert_eq!(names, ["user/aethon.service", "system/aethon@.service"]);
        for (path, text) in &units {
            assert!(
                text.contains(WALLS) && text.contains("ExecStart=/usr/bin/aethon-server\n"),
                "{path}: {text}"
            );
            assert!(!text.contains(MARK), "`service uninstall` must not take it for its own");
            let is_of_the_system = path.starts_with("system");
            assert_eq!(text.contains("\nUser=%i\n"), is_of_the_system, "{path}");
            assert_eq!(text.contains("WantedBy=multi-user.target\n"), is_of_the_system, "{path}");
        }
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
