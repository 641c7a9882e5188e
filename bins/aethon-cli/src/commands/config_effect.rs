//! When a change of the configuration takes effect, and the reload that applies it to the running daemon.

use std::io::IsTerminal;

use aethon::config_keys;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::args::Common;
use crate::commands::print;
use crate::daemon::{Daemon, Finder, status_of};

/// Says when the changed keys take effect. With `reload`, or if the person says so, the running daemon applies them now.
pub(crate) fn tell(common: &Common, keys: &[String], reload: bool) -> Result<()> {
    // The file was written whatever is wrong with the rest of it, of which the command has warned.
    let Ok(prepared) = crate::setup::builder(common).load() else { return Ok(()) };
    let Some(daemon) = Finder::new(&prepared, None).find()? else {
        return print("no aethon-server runs on this home; the next start takes it up\n");
    };
    let known =
        config_keys(&crate::setup::sources(common)?, prepared.config()).map_err(crate::setup::refused)?;
    let is_live = |key: &String| known.iter().any(|known| is_part(&known.key, key) && !known.needs_restart);
    if !keys.iter().any(is_live) {
        return print("the running aethon-server takes it up when it is restarted\n");
    }
    if reload || wants_reload()? {
        return print(&crate::setup::finish(applied(&daemon))?);
    }
    print("`aethon-cli config reload` applies it to the running aethon-server\n")
}

/// `config reload`.
pub(crate) fn reload(common: &Common) -> Result<()> {
    let prepared = crate::setup::prepared(common)?;
    let Some(daemon) = Finder::new(&prepared, None).find()? else {
        bail!("no aethon-server runs on this home; the next start reads the configuration");
    };
    print(&crate::setup::finish(applied(&daemon))?)
}

/// Makes the daemon reload, and describes the result.
async fn applied(daemon: &Daemon) -> Result<String> {
    let reloaded = daemon.post("/api/config/reload".into(), &json!({})).await;
    // It does not know the new token before it has reloaded.
    if reloaded.as_ref().is_err_and(|error| status_of(error) == Some(401)) {
        bail!(
            "the running aethon-server still has the token of before, so it cannot be asked to reload: send it SIGHUP \
             (`pkill -HUP aethon-server`, or `systemctl reload aethon`), or restart it"
        );
    }
    let reloaded = reloaded.context("the running aethon-server did not reload its configuration")?;
    let keys = |field: &str| -> Vec<String> {
        let listed = reloaded[field].as_array().into_iter().flatten();
        listed.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (taken_over, waiting) = (keys("taken_over"), keys("needs_restart"));
    let mut told = match taken_over.as_slice() {
        [] => "the running aethon-server has nothing new to take over\n".to_owned(),
        keys => format!("the running aethon-server has taken over {}\n", keys.join(", ")),
    };
    if !waiting.is_empty() {
        told.push_str(&format!("after a restart only: {}\n", waiting.join(", ")));
    }
    Ok(told)
}

/// Whether a key is the other one or lies within it, or the other way round.
fn is_part(key: &str, of: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    within(key, of) || within(of, key)
}

/// Asks on a terminal. Elsewhere there is no one to ask, and a change needs `--reload`.
fn wants_reload() -> Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    eprint!("apply it to the running aethon-server now? [Y/n] ");
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer).context("the terminal cannot be read")?;
    Ok(read > 0 && matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::is_part;

    #[test]
    fn sections_and_their_keys_are_parts_of_each_other() {
        for (key, of, expected) in [
            ("budget.daily_usd", "budget.daily_usd", true),
            ("budget.daily_usd", "budget", true),
            ("model", "model.headers.x", true),
            ("budget.daily_usd", "budget.daily", false),
            ("budget", "model", false),
        ] {
            assert_eq!(is_part(key, of), expected, "{key} {of}");
        }
    }
}
