//! `sop list|show|run|check|runs|resume`: workflows in Markdown, through the daemon if one runs, else in this process.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use aethon::core::sop::{SopCheck, SopFault, SopName};
use aethon::core::visible::readable;
use aethon::json::{ListedSop, Sops};
use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};

use super::source::Source;
use super::{print, print_json};
use crate::args::{Common, SopCommand};
use crate::chat::ask::Output;
use crate::daemon::encoded;

/// The maximum number of runs listed.
const LISTED_RUNS: usize = 50;

pub(crate) async fn run(common: &Common, command: SopCommand) -> Result<ExitCode> {
    match command {
        SopCommand::Check { files } => check(common, files),
        SopCommand::Run { name, text, session, json } => {
            let sop = Source::run(common, async |source| Workflows(source).show(&name).await).await?;
            let missing = missing(&sop, &text);
            // The SOP would ask for missing parameters, but this command ends after one reply.
            if !missing.is_empty() {
                bail!("/{name} needs to know more; add{missing}");
            }
            let text = format!("/{name} {}", text.join(" "));
            let text = vec![text.trim().to_owned()];
            let output = Output::of(json, false);
            let wish = super::chat::Wish { text, reads_input: true, session, output, ..Default::default() };
            super::chat::ask(common, wish).await
        }
        command => {
            Source::run(common, async |source| answer(&Workflows(source), command.clone()).await).await
        }
    }
}

async fn answer(workflows: &Workflows<'_>, command: SopCommand) -> Result<ExitCode> {
    match command {
        SopCommand::List { json } => {
            let list = workflows.list().await?;
            if json { print_json(&list)? } else { print(&table(&list))? }
        }
        SopCommand::Show { name, json } => {
            let sop = workflows.show(&name).await?;
            match json {
                true => print_json(&sop)?,
                false => print(&readable(sop["content"].as_str().unwrap_or_default()))?,
            }
        }
        SopCommand::Runs { json } => {
            let runs = workflows.runs().await?;
            if json { print_json(&runs)? } else { print(&runs_table(&runs))? }
        }
        SopCommand::Resume { run } => print(&workflows.resume(&run).await?)?,
        SopCommand::Check { .. } | SopCommand::Run { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// The SOPs and their runs.
struct Workflows<'s>(&'s Source);

impl Workflows<'_> {
    async fn list(&self) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => daemon.get("/api/sops".into()).await,
            Source::Here(aethon) => {
                let (sops, broken) = (aethon.sops().sops().await?, aethon.sops().broken().await?);
                Ok(json!(Sops::of(sops.iter().map(|sop| &**sop), &broken)))
            }
        }
    }

    async fn show(&self, name: &str) -> Result<Value> {
        let found = match self.0 {
            Source::Daemon(daemon) => daemon.find_json(format!("/api/sops/{}", encoded(name))).await?,
            Source::Here(aethon) => match SopName::parse(name) {
                Ok(name) => aethon.sops().sop(&name).await?.map(|sop| json!(ListedSop::of(&sop, true))),
                Err(_) => None,
            },
        };
        let Some(found) = found else {
            bail!("there is no SOP {name:?}; `aethon-cli sop list` lists them");
        };
        Ok(found)
    }

    async fn runs(&self) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => daemon.get(format!("/api/sop-runs?limit={LISTED_RUNS}")).await,
            Source::Here(aethon) => {
                let runs = aethon.storage().workflows.sop_runs.runs(None, LISTED_RUNS).await?;
                Ok(json!({ "count": runs.len(), "runs": runs }))
            }
        }
    }

    async fn resume(&self, run: &str) -> Result<String> {
        match self.0 {
            Source::Daemon(daemon) => {
                daemon.post(format!("/api/sop-runs/{}/resume", encoded(run)), &json!({})).await?;
                Ok("the run continues; `aethon-cli sop runs` shows its progress\n".to_owned())
            }
            Source::Here(aethon) => {
                let turn = aethon.sop_runner().resume(run).await?;
                // In this process the turn must finish before the program exits.
                aethon.shutdown(aethon.turn_timeout()).await;
                Ok(format!("the run went on in the turn {turn}\n"))
            }
        }
    }
}

/// Checks files and reports the faults of each, and the text that was not understood.
fn check(common: &Common, files: Vec<PathBuf>) -> Result<ExitCode> {
    let files = if files.is_empty() { workspace_files(common)? } else { files };
    let mut out = String::new();
    let mut is_valid = true;
    for path in &files {
        let SopCheck { faults, remarks } = aethon::check_sop(path);
        is_valid &= faults.is_empty();
        let faults = faults.iter().map(|fault| (fault, ""));
        let mut places: Vec<_> = faults.chain(remarks.iter().map(|remark| (remark, "remark: "))).collect();
        places.sort_by_key(|(place, _)| place.line);
        for (SopFault { line, message }, kind) in places {
            // Writing into a string cannot fail.
            let _ = writeln!(out, "{}:{line}: {kind}{message}", path.display());
        }
    }
    print(&readable(&out))?;
    if is_valid {
        eprintln!("{} {} in order", files.len(), if files.len() == 1 { "file is" } else { "files are" });
    }
    Ok(if is_valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn workspace_files(common: &Common) -> Result<Vec<PathBuf>> {
    let folder = crate::setup::prepared(common)?.home().sops();
    aethon::sop_files(&folder).map_err(|why| anyhow!("{} is not used: {why}", folder.display()))
}

/// Returns the required parameters of a SOP as written after its name.
fn needs(sop: &Value) -> String {
    required(sop).map(written).collect()
}

/// Returns the required parameters missing from these words: each needs a `NAME=` pair, and free text before the
/// pairs counts for one.
fn missing(sop: &Value, words: &[String]) -> String {
    let text = words.join(" ");
    let names = |name: &str| text.split_whitespace().position(|word| is_pair(word, name));
    let first_pair = required(sop).filter_map(names).min();
    let has_free_text = !text.trim().is_empty() && first_pair != Some(0);
    required(sop).filter(|name| names(name).is_none()).skip(usize::from(has_free_text)).map(written).collect()
}

/// Returns whether a word begins the pair of a parameter.
fn is_pair(word: &str, name: &str) -> bool {
    word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
}

fn required(sop: &Value) -> impl Iterator<Item = &str> {
    let parameters = sop["parameters"].as_array().into_iter().flatten();
    parameters
        .filter(|parameter| parameter["required"] == true)
        .filter_map(|parameter| parameter["name"].as_str())
}

fn written(name: &str) -> String {
    format!(" {}=...", readable(name))
}

fn table(list: &Value) -> String {
    let mut out = String::new();
    for sop in list["sops"].as_array().into_iter().flatten() {
        let text = |key: &str| readable(sop[key].as_str().unwrap_or_default());
        let _ =
            writeln!(out, "/{}{}  ({})\n    {}", text("name"), needs(sop), text("type"), text("description"));
    }
    for file in list["broken"].as_array().into_iter().flatten() {
        for fault in file["faults"].as_array().into_iter().flatten() {
            let text = |value: &Value| readable(value.as_str().unwrap_or_default());
            let _ = writeln!(
                out,
                "broken: {}:{}: {}",
                text(&file["path"]),
                fault["line"],
                text(&fault["message"])
            );
        }
    }
    out
}

fn runs_table(runs: &Value) -> String {
    let mut out = String::new();
    for run in runs["runs"].as_array().into_iter().flatten() {
        let text = |key: &str| readable(run[key].as_str().unwrap_or_default());
        let when: String = text("updated_at").replace('T', " ").chars().take(16).collect();
        let cost = run["cost_usd"].as_f64().unwrap_or_default();
        let _ = write!(
            out,
            "{when}  {}  {:<8} step {}/{}",
            text("run_id"),
            text("state"),
            run["step"],
            run["steps"]
        );
        let _ =
            writeln!(out, "  {}  {}  ${cost:.4}  {}", text("sop_name"), text("session_id"), text("error"));
    }
    if out.is_empty() { "no runs yet\n".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_parameters_without_a_value_are_missing() {
        let one = |name: &str, required: bool| json!({"name": name, "required": required});
        let sop = json!({"parameters": [one("goal", true), one("place", true), one("style", false)]});
        let check = |words: &[&str], expected: &str| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(missing(&sop, &words), expected, "{words:?}");
        };
        check(&[], " goal=... place=...");
        check(&["a", "party"], " place=...");
        check(&["goal=a party"], " place=...");
        check(&["place=here"], " goal=...");
        check(&["a", "party", "place=here"], "");
        check(&["goal=a", "place=here", "style=old"], "");
        check(&["style=old"], " place=...");
        check(&["goals=a"], " place=...");
        assert_eq!(needs(&sop), " goal=... place=...");
        assert_eq!(missing(&json!({"parameters": []}), &[]), "");
    }
}
