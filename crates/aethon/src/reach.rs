//! Describes to the owner what the assistant can read and run as configured, and how to restrict it.
//!
//! The sentences are derived from the configuration, so that the page, `init`, `doctor` and `--check` describe this
//! installation and not what a manual remembers.

use std::path::Path;

use aethon_config::Config;
use aethon_core::sandbox::Sandbox;

/// One ability of the assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The ability, as a clause.
    pub says: String,
    /// What to set to allow less; `None` if it cannot be restricted further.
    pub narrower: Option<&'static str>,
}

/// Lists what this configuration lets the assistant read and run, for a user with this home directory.
pub fn reach(config: &Config, user_home: Option<&Path>) -> Vec<Reach> {
    let mut reach = vec![files(config, user_home), commands(config)];
    if config.approval.enabled {
        reach.push(questions(config));
    }
    reach
}

fn files(config: &Config, user_home: Option<&Path>) -> Reach {
    match user_home {
        Some(home) if !config.security.workspace_only => Reach {
            says: format!(
                "It can read every file under {} but those in known places of keys and passwords{}",
                home.display(),
                match config.security.sandbox {
                    Sandbox::None => {
                        ", and change them, except for what programs run when they start (~/.bashrc, autostart and the like)"
                    }
                    Sandbox::Kernel | Sandbox::Docker => "; it changes files in its workspace only",
                }
            ),
            narrower: Some("security.workspace_only = true keeps it to the workspace"),
        },
        _ => Reach { says: "It can read the files of its workspace and no others".into(), narrower: None },
    }
}

fn commands(config: &Config) -> Reach {
    let ask = asks(config, "shell");
    let wider = "approval.enabled = true has it ask you first";
    let says = match (config.security.sandbox, ask) {
        (Sandbox::Docker, true) => "It asks you before it runs a command, in a container of its own".into(),
        (Sandbox::Docker, false) => {
            "It runs commands in a container of its own, without asking; they can change its workspace and nothing else \
             of this machine"
                .into()
        }
        (Sandbox::Kernel, true) => "It asks you before it runs a command, in a sandbox of the kernel".into(),
        (Sandbox::Kernel, false) => {
            "It runs commands in a sandbox of the kernel, without asking; they can change its workspace and nothing else \
             of this machine"
                .into()
        }
        (Sandbox::None, true) => "It asks you before it runs a command on this machine".into(),
        (Sandbox::None, false) => {
            "It runs commands on this machine as you, without asking; a command can read and change almost \
             everything that you can, except for keys, passwords and what programs run when they start"
                .into()
        }
    };
    let is_narrow = ask || config.security.sandbox != Sandbox::None;
    Reach { says, narrower: (!is_narrow).then_some(wider) }
}

/// Describes what needs approval.
fn questions(config: &Config) -> Reach {
    let approval = &config.approval;
    if approval.requires_approval.is_empty() {
        let says = "It asks you before nothing, because approval.requires_approval is empty".into();
        return Reach { says, narrower: None };
    }
    let says = format!(
        "It asks you before it uses {}; where nobody can answer, such as in a webhook, that is a no",
        approval.requires_approval.join(", ")
    );
    Reach { says, narrower: None }
}

fn asks(config: &Config, tool: &str) -> bool {
    config.approval.enabled && config.approval.requires_approval.iter().any(|name| name == tool)
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
}
