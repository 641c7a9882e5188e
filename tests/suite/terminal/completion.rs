//! Completion in the shells themselves: Tab is pressed in Bash, zsh and fish.

use std::path::Path;
use std::process::Command;

use aethon_tests::terminal::Terminal;
use aethon_tests::{home, program, run, run_cli};

/// The longest script that a shell should have to read at its start, in bytes.
const MAX_SCRIPT: usize = 60_000;

/// How a shell is started without its owner's settings, and how it takes the script over.
const SHELLS: [(&str, &[&str], &str); 3] = [
    ("bash", &["--norc", "--noprofile", "-i"], "source <(aethon-cli completions bash)"),
    ("zsh", &["-f", "-i"], "autoload -U compinit; compinit -u -D; source <(aethon-cli completions zsh)"),
    ("fish", &["--no-config", "--interactive"], "aethon-cli completions fish | source"),
];

/// Begins of lines, and what Tab makes of their last word.
const LINES: [(&str, &str); 9] = [
    ("aethon-cli config sch", "aethon-cli config schema"),
    ("aethon-cli ask --eff", "aethon-cli ask --effort"),
    ("aethon-cli ask --effort me", "aethon-cli ask --effort medium"),
    ("aethon-cli init --provider anth", "aethon-cli init --provider anthropic"),
    ("aethon-cli config get model.provid", "aethon-cli config get model.provider"),
    ("aethon-cli sessions show gard", "aethon-cli sessions show garden-plans"),
    ("aethon-cli jobs run morn", "aethon-cli jobs run morning-news"),
    ("aethon-cli secrets rm tele", "aethon-cli secrets rm telegram-token"),
    ("aethon-cli channels test webc", "aethon-cli channels test webchat"),
];

/// Fills a home with what there is to complete.
fn fill(home: &Path) {
    let echo = ["--set", "model.provider=echo"];
    let does = |arguments: &[&str], input: Option<&str>| {
        let output = run_cli(home, &[&echo[..], arguments].concat(), input);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    does(&["ask", "--no-stdin", "--session", "garden-plans", "hello"], None);
    let job = ["jobs", "add", "--id", "morning-news", "--cron", "0 8 * * *", "--prompt", "What is new?"];
    does(&job, None);
    does(&["secrets", "set", "telegram-token"], Some("123456:abcdefghijklmnopqrstuvwxyz"));
}

/// Starts a shell in which the program is found by its name.
fn shell(name: &str, arguments: &[&str], home: &Path) -> Option<Terminal> {
    let found = Command::new(name).arg("-c").arg("exit 0").status().is_ok();
    if !found {
        let is_asked_for = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!is_asked_for, "the tests of completion need {name} on the PATH");
        eprintln!("\n*** SKIPPED: {name} is not on the PATH, so its completion was NOT tested ***\n");
        return None;
    }
    let folder = Path::new(program("aethon-cli", home).get_program()).parent()?.to_owned();
    // A session of its own, as a terminal gives a shell: job control needs one.
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", "--wait", name])
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .env("AETHON_HOME", home)
        .current_dir(home);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display())).env("LANG", "C.UTF-8");
    Some(Terminal::start(&mut command))
}

#[test]
fn tab_completes_commands_options_and_values_in_each_shell() {
    let home = home();
    fill(home.path());
    for (name, arguments, setting_up) in SHELLS {
        let Some(mut terminal) = shell(name, arguments, home.path()) else { continue };
        terminal.enter(setting_up);
        terminal.enter("echo re''ady");
        terminal.wait_for_text("ready");
        for (line, expected) in LINES {
            terminal.press(line);
            terminal.press("\t");
            terminal.wait_for_screen(&format!("{name} completes {line}"), |screen| screen.contains(expected));
            // Ctrl-U empties the line.
            terminal.press("\u{15}");
        }
    }
}

#[test]
fn completion_scripts_are_small_and_name_the_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run_cli(home().path(), &["completions", shell], None);
        let script = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && script.contains("aethon-cli"), "{shell}: {output:?}");
        assert!(script.len() < MAX_SCRIPT, "{shell}: {} bytes", script.len());
    }
}

#[test]
fn completing_makes_no_home_and_reports_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let mut request = Command::new(program("aethon-cli", &missing).get_program());
    request.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder.path()).env("AETHON_HOME", &missing);
    request.env("_AETHON_CLI_COMPLETE", "fish").args(["--", "aethon-cli", "sessions", "show", ""]);
    let output = run(&mut request, None);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(!missing.exists(), "a key press makes no home");
}
