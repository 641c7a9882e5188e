//! Describes to the owner which files and commands the assistant can use as configured, and how to restrict it.
//!
//! The sentences are derived from the configuration, so that the page, `init`, `doctor` and `--check` describe this
//! installation and not a manual's.

use std::path::Path;

use aethon_agent::hooks::OUTBOUND;
use aethon_config::Config;
use aethon_core::sandbox::Sandbox;
use aethon_core::tool::fits;

/// One ability of the assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The ability, as a clause.
    pub says: String,
    /// The key to set to allow less; `None` if it cannot be restricted further.
    pub narrower: Option<&'static str>,
    /// Whether it acts on the machine or beyond it and nothing but the model holds it back. That is the default, and no
    /// fault, but nothing to be called fine.
    pub is_open: bool,
}

/// Lists what this configuration lets the assistant read, run and send, for a user with this home directory.
pub fn reach(config: &Config, user_home: Option<&Path>) -> Vec<Reach> {
    let mut reach = vec![files(config, user_home), commands(config), sending(config)];
    if config.approval.enabled {
        reach.push(questions(config));
    }
    reach
}

fn files(config: &Config, user_home: Option<&Path>) -> Reach {
    match user_home {
        Some(home) if !config.security.workspace_only => Reach {
            says: format!(
                "It can read every file under {} except known locations of keys and passwords{}",
                home.display(),
                match config.security.sandbox {
                    Sandbox::None => {
                        ", and change them, except files that programs run at startup (~/.bashrc, autostart and the like)"
                    }
                    Sandbox::Kernel | Sandbox::Docker => "; it changes files in its workspace only",
                }
            ),
            narrower: Some("security.workspace_only = true confines it to the workspace"),
            is_open: false,
        },
        _ => Reach {
            says: "It can read only the files of its workspace".into(),
            narrower: None,
            is_open: false,
        },
    }
}

fn commands(config: &Config) -> Reach {
    let ask = asks_before_commands(config);
    let wider = "approval.enabled = true makes it ask you first";
    let says = match (config.security.sandbox, ask) {
        (Sandbox::Docker, true) => "It asks you before it runs a command, in a container of its own".into(),
        (Sandbox::Docker, false) => {
            "It runs commands in a container of its own, without asking; they can change its workspace and nothing else \
             of this machine"
                .into()
        }
        (Sandbox::Kernel, true) => "It asks you before it runs a command, in the kernel sandbox".into(),
        (Sandbox::Kernel, false) => {
            "It runs commands in the kernel sandbox, without asking; they can change its workspace and nothing else \
             of this machine"
                .into()
        }
        (Sandbox::None, true) => "It asks you before it runs a command on this machine".into(),
        (Sandbox::None, false) => {
            "It runs commands on this machine as you, without asking; a command can read and change almost \
             everything that you can, except keys, passwords and files that programs run at startup"
                .into()
        }
    };
    let is_narrow = ask || config.security.sandbox != Sandbox::None;
    Reach { says, narrower: (!is_narrow).then_some(wider), is_open: !is_narrow }
}

/// Describes what leaves the machine, commands aside.
fn sending(config: &Config) -> Reach {
    if asks_before(config, OUTBOUND) {
        let says = "It asks you before it sends anything out of this machine: before it opens a web page, writes a message \
                    or schedules a job";
        return Reach { says: says.into(), narrower: None, is_open: false };
    }
    let says = "It opens web pages, writes messages and schedules jobs without asking, and can therefore send out what it reads";
    let wider =
        "`outbound` in approval.requires_approval, with approval.enabled = true, makes it ask you first";
    Reach { says: says.into(), narrower: Some(wider), is_open: true }
}

/// Describes what needs approval.
fn questions(config: &Config) -> Reach {
    let approval = &config.approval;
    if approval.requires_approval.is_empty() {
        let says = "It never asks you, because approval.requires_approval is empty".into();
        return Reach { says, narrower: None, is_open: true };
    }
    let says = format!(
        "It asks you before it uses {}; where no one can answer, such as in a webhook, the call is denied",
        approval.requires_approval.join(", ")
    );
    Reach { says, narrower: None, is_open: false }
}

/// Returns whether a person must approve commands.
pub(crate) fn asks_before_commands(config: &Config) -> bool {
    let security = &config.security;
    let is_way_out = security.sandbox == Sandbox::None || security.sandbox_network != "none";
    asks_before(config, "shell") || is_way_out && asks_before(config, OUTBOUND)
}

/// Returns whether an entry of `approval.requires_approval` covers this tool or group.
fn asks_before(config: &Config, name: &str) -> bool {
    let approval = &config.approval;
    approval.enabled && approval.requires_approval.iter().any(|entry| fits(name, entry))
}

impl Reach {
    /// Returns both as one sentence.
    pub fn sentence(&self) -> String {
        match self.narrower {
            Some(narrower) => format!("{}. {narrower}.", self.says),
            None => format!("{}.", self.says),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_follow_the_configuration() {
        let check = |change: fn(&mut Config), expected: [&str; 2], can_be_narrowed: [bool; 2]| {
            let mut config = Config::default();
            change(&mut config);
            let told = reach(&config, Some(Path::new("/home/ada")));
            for ((told, expected), can) in told.iter().zip(expected).zip(can_be_narrowed) {
                assert!(told.says.contains(expected), "{told:?}");
                assert_eq!(told.narrower.is_some(), can, "{told:?}");
            }
        };
        check(|_| {}, ["under /home/ada", "without asking"], [true, true]);
        check(|config| config.security.workspace_only = true, ["workspace", "without asking"], [false, true]);
        check(|config| config.approval.enabled = true, ["under /home/ada", "asks you"], [true, false]);
        let file_writes_only = |config: &mut Config| {
            config.approval.enabled = true;
            config.approval.requires_approval = vec!["file_write".into()];
        };
        check(file_writes_only, ["under /home/ada", "without asking"], [true, true]);
        check(
            |config| config.security.sandbox = Sandbox::Docker,
            ["under /home/ada", "in a container"],
            [true, false],
        );
        assert!(reach(&Config::default(), None)[0].says.contains("workspace"));
    }

    #[test]
    fn unrestricted_abilities_are_open() {
        let check = |change: fn(&mut Config), expected: [bool; 2]| {
            let mut config = Config::default();
            change(&mut config);
            let reach = reach(&config, Some(Path::new("/home/ada")));
            assert_eq!([reach[1].is_open, reach[2].is_open], expected, "{reach:?}");
            assert_eq!(asks_before_commands(&config), config.approval.enabled && !expected[0]);
        };
        fn asking(config: &mut Config, entry: &str) {
            config.approval.enabled = true;
            config.approval.requires_approval = vec![entry.to_owned()];
        }
        check(|_| {}, [true, true]);
        check(|config| config.approval.enabled = true, [false, true]);
        check(|config| asking(config, "outbound"), [false, false]);
        check(|config| asking(config, "*"), [false, false]);
        check(|config| asking(config, "file_write"), [true, true]);
        check(|config| config.security.sandbox = Sandbox::Kernel, [false, true]);
    }
}
