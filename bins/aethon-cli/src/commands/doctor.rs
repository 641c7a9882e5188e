//! `doctor`: finds problems, and explains how to fix them.

use std::process::ExitCode;

use aethon::Home;
use aethon::config::Sources;
use aethon::core::clock::{Clock, SystemClock};
use aethon::core::visible::readable;
use aethon::doctor::{Finding, Health, RunningServer};
use aethon::repair::Repaired;
use anyhow::Result;
use serde_json::json;

use super::{print, print_json};
use crate::args::Common;
use crate::chat::style;
use crate::daemon::{Daemon, Finder};

/// Mends the database of the home.
pub(crate) fn repair(common: &Common) -> Result<Repaired> {
    let sources = Sources::from_process(common.home.clone(), None, Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    Ok(aethon::repair::repair(&Home::at(&sources.home), SystemClock.now())?)
}

pub(crate) async fn run(
    common: &Common,
    attack: bool,
    (strict, as_json): (bool, bool),
    repaired: Option<Repaired>,
) -> Result<ExitCode> {
    let builder = crate::setup::builder(common);
    let findings = match attack {
        true => aethon::attack::examine(builder).await,
        false => aethon::doctor::examine(builder, running_server(common).await).await,
    };
    let worst = findings.iter().map(|finding| finding.health).max().unwrap_or(Health::Ok);
    let healthy = worst < if strict { Health::Warning } else { Health::Broken };
    if as_json {
        let mut document = json!({"healthy": healthy, "findings": findings});
        if let Some(repaired) = repaired {
            document["repair"] = serde_json::to_value(repaired)?;
        }
        print_json(&document)?;
    } else {
        let repaired = repaired.iter().map(repair_lines).collect::<String>();
        print(&(repaired + &findings.iter().map(line).collect::<String>()))?;
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Asks the server that runs on the home, if there is one.
async fn running_server(common: &Common) -> Option<RunningServer> {
    // Errors in the configuration are among the findings.
    let prepared = crate::setup::builder(common).load().ok()?;
    match Finder::new(&prepared, None).find() {
        Ok(Some(daemon)) => {
            let trouble = daemon.get("/api/ready".into()).await.err().map(|error| format!("{error:#}"));
            let [degraded, outlook] = rows(&daemon, ["storage", "limits"]).await;
            Some(RunningServer { address: daemon.base, trouble: trouble.or(degraded), outlook })
        }
        Ok(None) if prepared.home().has_daemon() => {
            let trouble = Some("it is still starting, or could not publish its address".to_owned());
            Some(RunningServer { address: "this home".to_owned(), trouble, outlook: None })
        }
        Ok(None) | Err(_) => None,
    }
}

/// Returns the server's explanations of those of these features that do not simply work.
async fn rows<const N: usize>(daemon: &Daemon, ids: [&str; N]) -> [Option<String>; N] {
    let features = daemon.get("/api/features".into()).await.unwrap_or_default();
    ids.map(|id| {
        let row = features["features"].as_array()?.iter().find(|row| row["id"] == id)?;
        (row["state"] != "on").then(|| row["detail"].as_str().unwrap_or_default().to_owned())
    })
}

fn repair_lines(repaired: &Repaired) -> String {
    let mut text = format!("repair   {}\n", repaired.message);
    for lost in &repaired.lost {
        text += &format!("         lost of {lost}\n");
    }
    if let Some(aside) = &repaired.moved_to {
        text += &format!("         the damaged file is kept as {}\n", aside.display());
    }
    text
}

fn line(finding: &Finding) -> String {
    let style = style();
    let mark = match finding.health {
        Health::Ok => style.paint("32", "ok     "),
        Health::Note => style.paint("36", "note   "),
        Health::Warning => style.paint("33", "warning"),
        Health::Broken => style.paint("31", "broken "),
    };
    let fix =
        finding.fix.as_ref().map(|fix| format!("\n           fix: {}", readable(fix))).unwrap_or_default();
    format!("{mark}  {}: {}{fix}\n", finding.area, readable(&finding.message))
}
