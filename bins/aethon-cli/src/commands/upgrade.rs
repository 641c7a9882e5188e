//! `upgrade`: brings the database of the home to the format of this version, and removes the copies that this left.
//!
//! Every other command that needs the database offers the same to a person at a terminal, and otherwise refuses.

use std::io::IsTerminal;
use std::process::ExitCode;

use aethon::core::audit::AuditAction;
use aethon::upgrade::{self, Done, Plan};
use aethon::{Home, Prepared};
use anyhow::{Context, Result};
use serde_json::json;

use super::{confirm, note, print, print_json};
use crate::args::{Common, UpgradeArgs};

pub(crate) fn run(common: &Common, arguments: &UpgradeArgs) -> Result<ExitCode> {
    let home = crate::setup::home(common)?;
    if arguments.remove_copies {
        return remove_copies(common, &home, arguments);
    }
    if arguments.dry_run {
        let plan = upgrade::plan(&home)?;
        report_plan(plan.as_ref(), arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let done = upgrade::run(&home)?;
    if done.is_some() {
        note(&crate::setup::sources(common)?, AuditAction::Backup, ("upgrade", "done"))?;
    }
    match (&done, arguments.json) {
        (done, true) => print_json(&json!({ "upgraded": done }))?,
        (Some(done), false) => print(&done_lines(done))?,
        (None, false) => print(&nothing_to_do())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn report_plan(plan: Option<&Plan>, as_json: bool) -> Result<()> {
    match plan {
        plan if as_json => print_json(&json!({ "plan": plan })),
        Some(plan) => print(&plan_lines(plan)),
        None => print(&nothing_to_do()),
    }
}

fn nothing_to_do() -> String {
    format!(
        "nothing to do: the database has the format of this version, or there is none (aethon {})\n",
        aethon::version::long()
    )
}

fn plan_lines(plan: &Plan) -> String {
    let mut text: String = plan.lines().into_iter().map(|line| format!("{line}\n")).collect();
    if plan.is_served {
        text += "an aethon-server of an older version runs on this home: stop it first\n";
    }
    text
}

fn done_lines(done: &Done) -> String {
    let Plan { database, from, to, copy, .. } = &done.plan;
    format!(
        "{} was brought from format {from} to {to}\n  the database from before is kept as {} ({} KiB)\n",
        database.display(),
        copy.display(),
        done.copied.div_ceil(1024)
    )
}

fn remove_copies(common: &Common, home: &Home, arguments: &UpgradeArgs) -> Result<ExitCode> {
    let copies = upgrade::copies(home);
    let names = copies.iter().map(|copy| copy.path.display().to_string()).collect::<Vec<_>>().join(", ");
    if !copies.is_empty() && !confirm(&format!("remove {names}"), arguments.yes)? {
        return Ok(ExitCode::FAILURE);
    }
    let removed = upgrade::remove_copies(home)?;
    let sources = crate::setup::sources(common)?;
    for copy in &removed {
        note(&sources, AuditAction::Deletion, (&copy.path.display().to_string(), "done"))?;
    }
    let paths: Vec<_> = removed.iter().map(|copy| copy.path.display().to_string()).collect();
    match (arguments.json, paths.is_empty()) {
        (true, _) => print_json(&json!({ "removed": paths }))?,
        (false, true) => print("there are no copies\n")?,
        (false, false) => print(&paths.iter().map(|path| format!("removed {path}\n")).collect::<String>())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Offers a due upgrade to a person at a terminal. Whatever the answer, the next step opens the home or refuses it.
pub(crate) fn offer(prepared: &Prepared) -> Result<()> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(());
    }
    // An unreadable home is refused by the next step.
    let Ok(Some(plan)) = upgrade::plan(prepared.home()) else { return Ok(()) };
    eprint!("{}upgrade it now? type yes: ", plan_lines(&plan));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("the terminal cannot be read")?;
    if answer.trim().eq_ignore_ascii_case("yes")
        && let Some(done) = upgrade::run(prepared.home())?
    {
        eprint!("{}", done_lines(&done));
    }
    Ok(())
}
