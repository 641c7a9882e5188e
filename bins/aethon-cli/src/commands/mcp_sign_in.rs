//! `mcp login|logout`: signs in to remote MCP servers. A running daemon notices within seconds.

use std::io::BufRead as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use aethon::McpSignIn;
use aethon::core::audit::AuditAction;
use anyhow::{Result, bail};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

use super::{note, print};
use crate::args::{Common, McpCommand};

/// How long a person may take.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(15 * 60);

pub(crate) fn run(common: &Common, command: McpCommand) -> Result<ExitCode> {
    let prepared = crate::setup::builder(common).load()?;
    let runtime = crate::setup::runtime()?;
    let (name, what) = match command {
        McpCommand::Login { name, open } => {
            prepared.home().prepare()?;
            runtime.block_on(login(&prepared, &name, open))?;
            print(&format!("signed in to {name}\n"))?;
            (name, "signed in")
        }
        McpCommand::Logout { name } => {
            if !runtime.block_on(McpSignIn::sign_out(&prepared, &name))? {
                bail!("there is no sign-in at {name}");
            }
            print(&format!("signed out of {name}\n"))?;
            (name, "signed out")
        }
    };
    // A thread still reading standard input must not delay the exit.
    runtime.shutdown_background();
    note(&crate::setup::sources(common)?, AuditAction::Secret, (&format!("mcp.servers.{name}"), what))?;
    Ok(ExitCode::SUCCESS)
}

async fn login(prepared: &aethon::Prepared, name: &str, open: bool) -> Result<()> {
    let sign_in = McpSignIn::begin(prepared, name).await?;
    print(&format!(
        "To sign in at {}, open this address in a browser:\n\n{}\n\nWaiting for you to come back. If that browser is on \
         another machine, paste the address at which it ended here.\n",
        sign_in.host(),
        sign_in.address()
    ))?;
    if open {
        open_browser(sign_in.address());
    }
    let complain = |why: &str| eprintln!("aethon-cli: {why}");
    match timeout(SIGN_IN_TIMEOUT, sign_in.complete(&mut pasted(), complain)).await {
        Ok(completed) => Ok(completed?),
        Err(_) => bail!("no one signed in within {} minutes; start again", SIGN_IN_TIMEOUT.as_secs() / 60),
    }
}

/// The lines of standard input.
fn pasted() -> Receiver<String> {
    let (lines, pasted) = channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if !line.trim().is_empty() && lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    pasted
}

#[expect(clippy::disallowed_methods, reason = "the person's own browser runs on as it does from a desktop")]
fn open_browser(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        eprintln!("aethon-cli: `{program}` cannot be started ({error}); open the address by hand");
    }
}
