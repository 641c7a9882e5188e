//! `/commands`: the commands that run on in the background of this conversation.

use aethon::core::visible::{exact, readable};
use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::backend::{Backend, LookUp};
use super::output::put;
use super::screen::style;

/// How many characters of a command and how many lines of its output are shown.
const MAX_COMMAND: usize = 80;
const MAX_LINES: usize = 3;

/// Lists the commands, or stops one: the words behind `/commands`.
pub(super) async fn act(backend: &mut dyn Backend, words: &str) -> Result<()> {
    match wish(words)? {
        Wish::List => {
            let document = backend.look_up(LookUp::Commands).await?;
            let commands = document["commands"].as_array().map(Vec::as_slice).unwrap_or_default();
            if commands.is_empty() {
                put(&style().dim("no command runs in the background of this conversation\n"));
            }
            commands.iter().for_each(show);
        }
        Wish::Stop(number) => {
            let command = backend.stop_command(number).await?;
            put(&format!("{}\n", heading(&command)));
        }
    }
    Ok(())
}

/// What the words behind `/commands` ask for.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    List,
    Stop(u32),
}

fn wish(words: &str) -> Result<Wish> {
    let mut words = words.split_whitespace();
    let wish = match (words.next(), words.next(), words.next()) {
        (None, ..) => Wish::List,
        (Some("stop"), Some(number), None) => {
            let number = number.parse().ok();
            Wish::Stop(number.context("/commands stop takes the number of a command, as /commands lists it")?)
        }
        (Some("stop"), None, _) => bail!("name the command to stop: /commands stop NUMBER"),
        _ => bail!("/commands lists the commands in the background, and /commands stop NUMBER stops one"),
    };
    Ok(wish)
}

fn show(command: &Value) {
    put(&format!("{}\n", heading(command)));
    let output = readable(command["output"].as_str().unwrap_or_default());
    let lines: Vec<&str> = output.lines().collect();
    for line in &lines[lines.len().saturating_sub(MAX_LINES)..] {
        put(&style().dim(&format!("     {line}\n")));
    }
}

/// Returns a line: `3  running: npm run dev`.
fn heading(command: &Value) -> String {
    let text = |key: &str| command[key].as_str().unwrap_or_default();
    let state = if text("state") == "running" { "running" } else { text("outcome") };
    let line = exact(text("command"));
    let short: String = line.chars().take(MAX_COMMAND).collect();
    let rest = if short.len() < line.len() { "…" } else { "" };
    let number = command["number"].as_u64().unwrap_or_default();
    format!("{number:>3}  {short}{rest}  {}", style().dim(&readable(state)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_ask_for_the_list_or_a_stop() {
        let check = |words: &str, expected: Result<Wish, &str>| {
            let wish = wish(words);
            match expected {
                Ok(expected) => assert_eq!(wish.unwrap(), expected, "{words:?}"),
                Err(part) => {
                    let error = wish.unwrap_err().to_string();
                    assert!(error.contains(part), "{words:?}: {error}");
                }
            }
        };
        check("", Ok(Wish::List));
        check("stop 3", Ok(Wish::Stop(3)));
        check("stop", Err("name the command to stop"));
        check("stop it", Err("takes the number"));
        check("stop 3 4", Err("stop NUMBER stops one"));
        check("halt", Err("lists the commands"));
    }

    #[test]
    fn heading_names_the_command_and_its_end() {
        let ended = json!({"number": 3, "command": "make \u{202e}all", "state": "exited", "outcome": "ended with status 2 after 4 s"});
        let heading = heading(&ended);
        assert!(heading.starts_with("  3  make ") && heading.contains("ended with status 2"), "{heading}");
        assert!(!heading.contains('\u{202e}'), "{heading}");
    }
}
