//! Printing and prompting, shared by all commands.

use std::io::{IsTerminal, Write};

use aethon::core::visible::escaped_json;
use anyhow::{Context, Result, bail};

use crate::args::Common;

/// Prints to standard output; a closed pipe (`| head`) is not a failure.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}

/// Prints a JSON document.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{}\n", escaped_json(&serde_json::to_string_pretty(value)?)))
}

/// Asks for confirmation of a removal; without a terminal `--yes` is required.
pub(crate) fn confirm(what: &str, yes: bool) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        bail!("{what} asks first: pass --yes where no one can answer");
    }
    eprint!("{what}? type yes: ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("the terminal cannot be read")?;
    let is_confirmed = answer.trim().eq_ignore_ascii_case("yes");
    if !is_confirmed {
        eprintln!("nothing was changed");
    }
    Ok(is_confirmed)
}

/// Refuses `--connect` for a command that works on the files of a home.
pub(crate) fn refuse_connect(common: &Common, command: &str) -> Result<()> {
    if common.connect.is_none() {
        return Ok(());
    }
    let words = format!("`{command}` works on the files of a home: run it where that is, without --connect");
    Err(aethon::Error::refused(words).into())
}
