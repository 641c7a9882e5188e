//! `package-files`: what a package has besides the programs, laid out as below `share`.
//!
//! Hidden, because only `cargo xtask dist` and packagers need it. The pages and completions come from the same definitions as
//! `--help`, and the units from the same text as `service install`, so none can fall behind.

use std::path::Path;
use std::process::ExitCode;

use aethon::config::Config;
use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use super::{completions, service};
use crate::args::Cli;

/// Where each shell looks for completions of other programs.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/aethon-cli"),
    (Shell::Zsh, "zsh/site-functions/_aethon-cli"),
    (Shell::Fish, "fish/vendor_completions.d/aethon-cli.fish"),
];

/// The daemon where packages install it.
const DAEMON: &str = "/usr/bin/aethon-server";

/// Writes the files below this folder.
pub(crate) fn run(folder: &Path) -> Result<ExitCode> {
    let pages = folder.join("man/man1");
    std::fs::create_dir_all(&pages).with_context(|| format!("{} cannot be made", pages.display()))?;
    clap_mangen::generate_to(Cli::command(), &pages)
        .with_context(|| format!("{} cannot be filled", pages.display()))?;
    for (shell, path) in COMPLETIONS {
        write(folder, path, &completions::script(shell, "aethon-cli")?)?;
    }
    let stop_seconds = Config::default().server.shutdown_grace + service::LAST_SECONDS;
    for (path, text) in service::of_a_package(DAEMON, stop_seconds) {
        write(folder, &format!("systemd/{path}"), &text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(folder: &Path, path: &str, text: &str) -> Result<()> {
    let file = folder.join(path);
    let parent = file.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
    std::fs::write(&file, text).with_context(|| format!("{} cannot be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_a_completion() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path()).unwrap();
        let text = |path: &str| std::fs::read_to_string(folder.path().join(path)).unwrap();
        let page = text("man/man1/aethon-cli.1");
        assert!(page.contains(".TH aethon\\-cli 1") || page.contains(".TH aethon-cli 1"), "{page}");
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("man/man1/aethon-cli-{}.1", command.get_name());
            let about = command.get_about().unwrap().to_string();
            let first = about.split([' ', ',']).next().unwrap();
            assert!(text(&name).contains(first), "{name}");
        }
        assert!(!folder.path().join("man/man1/aethon-cli-package-files.1").exists());
        for (shell, path) in COMPLETIONS {
            assert!(text(path).contains("_AETHON_CLI_COMPLETE"), "{shell}");
            assert!(!text(path).contains("/deps/"), "{shell} asks the program of this test");
        }
        assert!(text("systemd/user/aethon.service").contains("ExecStart=/usr/bin/aethon-server\n"));
    }
}
