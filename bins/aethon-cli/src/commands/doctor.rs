//! `doctor`: finds problems, and explains how to fix them.

use std::cmp::Reverse;
use std::fs::Permissions;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::ExitCode;

use aethon::Home;
use aethon::config::Sources;
use aethon::core::clock::{Clock, SystemClock};
use aethon::core::visible::readable;
use aethon::doctor::{Finding, Health, RunningServer};
use aethon::repair::Repaired;
use anyhow::{Context, Result};
use serde_json::json;

use super::{print, print_json};
use crate::args::Common;
use crate::chat::style;
use crate::daemon::{Daemon, Finder};
use crate::render::columns_of;

/// Mends the database of the home.
pub(crate) fn repair(common: &Common) -> Result<Repaired> {
    let sources = Sources::from_process(common.home.clone(), None, Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    Ok(aethon::repair::repair(&Home::at(&sources.home), SystemClock.now())?)
}

/// The scope of the checks, and the form of the report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    /// Whether the daemon is attacked instead.
    pub(crate) attack: bool,
    /// Whether warnings count as failures.
    pub(crate) strict: bool,
    /// Whether it is printed as JSON.
    pub(crate) as_json: bool,
    /// Whether everything is listed, in the order of the checks.
    pub(crate) all: bool,
}

/// Applies the safe fixes: makes missing folders, and closes files of the home that other accounts can read. Returns a report.
pub(crate) fn fix(common: &Common) -> Result<String> {
    let sources = crate::setup::sources(common)?;
    let home = Home::at(&sources.home);
    let mut done = String::new();
    if !home.path().exists() {
        done += &format!("fixed    made {}\n", home.path().display());
    }
    home.prepare()?;
    let credentials = std::fs::read_dir(home.credentials()).into_iter().flatten().flatten();
    let files = [sources.config_file(), home.database()].into_iter();
    let files = files.chain(credentials.map(|entry| entry.path())).map(|path| (path, 0o600));
    let folders = [home.path().to_owned(), home.credentials(), home.run()].map(|path| (path, 0o700));
    for (path, mode) in folders.into_iter().chain(files) {
        if close(&path, mode).with_context(|| format!("{} cannot be closed", path.display()))? {
            done += &format!("fixed    {} can be read by you alone now\n", path.display());
        }
    }
    Ok(if done.is_empty() { "fixed    nothing: no safe fix was needed\n".to_owned() } else { done })
}

/// Takes the rights of others away from a file or folder that is there. Links are left alone.
fn close(path: &Path, mode: u32) -> std::io::Result<bool> {
    let Ok(found) = path.symlink_metadata() else { return Ok(false) };
    let is_open = found.permissions().mode() & 0o077 != 0;
    if found.file_type().is_symlink() || !is_open {
        return Ok(false);
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(true)
}

/// Examines the installation. `before` is printed first.
pub(crate) async fn run(
    common: &Common,
    look: Look,
    before: String,
    repaired: Option<Repaired>,
) -> Result<ExitCode> {
    let Look { attack, strict, as_json, all } = look;
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
        let shown = match all || attack {
            true => findings.iter().map(line).collect(),
            false => summary(&findings),
        };
        print(&(before + &repaired + &shown))?;
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

/// Problems first, then a line for each passed check. Features that work as configured are only counted.
fn summary(findings: &[Finding]) -> String {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| Reverse(finding.health));
    let is_fine = |finding: &Finding| finding.health == Health::Ok;
    let is_counted = |finding: &Finding| is_fine(finding) && finding.area == "feature";
    let mut text: String =
        sorted.iter().filter(|finding| !is_counted(finding)).map(|finding| short(finding)).collect();
    let count = |health| findings.iter().filter(|finding| finding.health == health).count();
    let plural = |count: usize, word: &str| match count {
        0 => None,
        1 => Some(format!("1 {word}")),
        _ => Some(format!("{count} {word}s")),
    };
    let broken =
        Some(count(Health::Broken)).filter(|count| *count > 0).map(|count| format!("{count} broken"));
    let parts = [
        broken,
        plural(count(Health::Warning), "warning"),
        plural(count(Health::Note), "note"),
        Some(format!("{} fine", count(Health::Ok))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    text += &format!("\n{}; --all lists everything\n", parts.join(", "));
    if let Some(fix) =
        sorted.iter().filter(|finding| !is_fine(finding)).find_map(|finding| finding.fix.as_ref())
    {
        text += &format!("{} {}\n", style().bold("next:"), readable(fix));
    }
    text
}

/// Formats a finding; one that is fine takes a line of the terminal.
fn short(finding: &Finding) -> String {
    let text = line(finding);
    let style = style();
    if finding.health != Health::Ok
        || !std::io::stdout().is_terminal()
        || columns_of(text.trim_end()) <= style.width
    {
        return text;
    }
    let room = style.width.saturating_sub(finding.area.len() + 12).max(20);
    let message: String = finding.message.chars().take(room).chain(['…']).collect();
    line(&Finding { message, ..finding.clone() })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_come_first_with_one_next_step() {
        let finding = |area, health, fix: Option<&str>| Finding {
            area,
            health,
            message: format!("about {area}"),
            fix: fix.map(str::to_owned),
        };
        let findings = [
            finding("config", Health::Ok, None),
            finding("feature", Health::Ok, None),
            finding("port", Health::Warning, Some("take another port")),
            finding("sandbox", Health::Note, None),
            finding("model", Health::Broken, Some("set the key")),
        ];
        let text = summary(&findings);
        let order: Vec<&str> = text.lines().filter_map(|line| line.split("about ").nth(1)).collect();
        assert_eq!(order, ["model", "port", "sandbox", "config"], "{text}");
        assert!(
            text.contains(
                "\n1 broken, 1 warning, 1 note, 2 fine; --all lists everything\nnext: set the key\n"
            ),
            "{text}"
        );
        assert!(summary(&findings[..2]).ends_with("\n2 fine; --all lists everything\n"));
    }

    #[test]
    fn fix_changes_only_files_that_others_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, "x").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        assert!(close(&file, 0o600).unwrap() && !close(&file, 0o600).unwrap());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!close(&folder.path().join("none"), 0o600).unwrap());
    }
}
