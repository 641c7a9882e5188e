//! `pair-phone`: a QR code with which a phone signs in to the pages, once.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::{print, print_json};
use crate::args::Common;
use crate::daemon::Finder;

/// The light border that readers need, in modules.
const BORDER: usize = 4;

pub(crate) async fn run(common: &Common, address: Option<&str>, json: bool) -> Result<ExitCode> {
    let prepared = crate::setup::prepared(common)?;
    let Some(daemon) = Finder::new(&prepared, common.connect.as_deref()).find()? else {
        bail!("no aethon-server runs on this home; start it first");
    };
    let address = match address {
        Some(address) => address.to_owned(),
        None if daemon.socket().is_some() => {
            bail!("the aethon-server has no port; say with --address how the phone reaches it")
        }
        None => format!("{}{}/", daemon.base, prepared.config().server.base_path),
    };
    let made = daemon.post("/api/sign-in-codes".into(), &json!({ "address": address })).await;
    let made = made.context("no code could be made")?;
    if json {
        print_json(&made)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<bool>> =
        made["qr"].as_array().into_iter().flatten().filter_map(Value::as_str).map(row).collect();
    let mut text = drawn(&rows, std::io::stdout().is_terminal());
    text.push_str(&format!("\n{}\n", made["url"].as_str().unwrap_or_default()));
    text.push_str("It signs in one device, within five minutes.\n");
    if is_local(&address) {
        text.push_str(
            "A phone does not reach this address; give one that it does with --address https://...\n",
        );
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn row(text: &str) -> Vec<bool> {
    text.bytes().map(|sign| sign == b'1').collect()
}

/// Draws two rows of modules in each line. On a terminal, dark is black and light is white whatever its colours are, or cameras do
/// not read it.
fn drawn(rows: &[Vec<bool>], is_terminal: bool) -> String {
    let is_dark = |x: usize, y: usize| {
        let module = x.checked_sub(BORDER).zip(y.checked_sub(BORDER));
        module.and_then(|(x, y)| rows.get(y)?.get(x)).copied().unwrap_or(false)
    };
    let size = rows.len() + 2 * BORDER;
    let mut text = String::new();
    for y in (0..size).step_by(2) {
        let line: String = (0..size)
            .map(|x| match (is_dark(x, y), is_dark(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            })
            .collect();
        match is_terminal {
            true => text.push_str(&format!("\u{1b}[38;5;16;48;5;231m{line}\u{1b}[0m\n")),
            false => text.push_str(&format!("{line}\n")),
        }
    }
    text
}

/// Whether an address is reached from this machine only.
fn is_local(address: &str) -> bool {
    let host = address.split("//").nth(1).unwrap_or_default();
    ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_drawn_with_its_border_two_rows_a_line() {
        let rows = [row("101"), row("010"), row("111")];
        let text = drawn(&rows, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6, "eleven rows of modules");
        assert!(lines.iter().all(|line| line.chars().count() == 11));
        assert_eq!((lines[2].trim(), lines[3].trim()), ("▀▄▀", "▀▀▀"));
        assert!(drawn(&rows, true).starts_with("\u{1b}[38;5;16;48;5;231m"));
    }
}
