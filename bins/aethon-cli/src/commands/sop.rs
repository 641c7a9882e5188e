//! `sop list|show|run|check|runs|resume`: workflows in Markdown, through the daemon where one runs, else in this process.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aethon::core::sop::{SopFault, SopName};
use aethon::core::visible::readable;
use aethon::json::{ListedSop, Sops};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::source::Source;
use super::{print, print_json};
use crate::args::{Common, SopCommand};
use crate::daemon::encoded;

/// How many runs are listed.
const LISTED_RUNS: usize = 50;

pub(crate) async fn run(common: &Common, command: SopCommand) -> Result<ExitCode> {
    match command {
        SopCommand::Check { files } => return check(common, files),
        SopCommand::Run { name, text, session, json } => {
            let needs = needs(&Workflows::open(common).await?.show(&name).await?);
            // Asked for what is missing, nobody could answer: this ends with one reply.
            if text.is_empty() && !needs.is_empty() {
                bail!("/{name} needs to know more: aethon-cli sop run {name}{needs}");
            }
            let text = format!("/{name} {}", text.join(" "));
            return super::chat::ask(common, Some(text.trim().to_owned()), session, None, json).await;
        }
        SopCommand::List { json } => {
            let list = Workflows::open(common).await?.list().await?;
            if json { print_json(&list)? } else { print(&table(&list))? }
        }
        SopCommand::Show { name, json } => {
            let sop = Workflows::open(common).await?.show(&name).await?;
            match json {
                true => print_json(&sop)?,
                false => print(&readable(sop["content"].as_str().unwrap_or_default()))?,
            }
        }
        SopCommand::Runs { json } => {
            let runs = Workflows::open(common).await?.runs().await?;
            if json { print_json(&runs)? } else { print(&runs_table(&runs))? }
        }
        SopCommand::Resume { run } => print(&Workflows::open(common).await?.resume(&run).await?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The SOPs, and their runs.
struct Workflows(Source);

impl Workflows {
    async fn open(common: &Common) -> Result<Self> {
        Ok(Self(Source::open(common).await?))
    }

    async fn list(&self) -> Result<Value> {
        match &self.0 {
            Source::Daemon(daemon) => daemon.get("/api/sops".into()).await,
            Source::Here(aethon) => {
                let (sops, broken) = (aethon.sops().sops().await?, aethon.sops().broken().await?);
                Ok(json!(Sops::of(sops.iter().map(|sop| &**sop), &broken)))
            }
        }
    }

    async fn show(&self, name: &str) -> Result<Value> {
        let found = match &self.0 {
            Source::Daemon(daemon) => daemon.find_json(format!("/api/sops/{}", encoded(name))).await?,
            Source::Here(aethon) => match SopName::parse(name) {
                Ok(name) => aethon.sops().sop(&name).await?.map(|sop| json!(ListedSop::of(&sop, true))),
                Err(_) => None,
            },
        };
        let Some(found) = found else {
            bail!("there is no SOP {name:?}; `aethon-cli sop list` shows what there is");
        };
        Ok(found)
    }

    async fn runs(&self) -> Result<Value> {
        match &self.0 {
            Source::Daemon(daemon) => daemon.get(format!("/api/sop-runs?limit={LISTED_RUNS}")).await,
            Source::Here(aethon) => {
                let runs = aethon.storage().workflows.sop_runs.runs(None, LISTED_RUNS).await?;
                Ok(json!({ "count": runs.len(), "runs": runs }))
            }
        }
    }

    async fn resume(&self, run: &str) -> Result<String> {
        match &self.0 {
            Source::Daemon(daemon) => {
                daemon.post(format!("/api/sop-runs/{}/resume", encoded(run)), &json!({})).await?;
                Ok("the run goes on; `aethon-cli sop runs` shows where it is\n".to_owned())
            }
            Source::Here(aethon) => {
                let turn = aethon.sop_runner().resume(run).await?;
                // In this process the turn has to be waited for.
                aethon.shutdown(aethon.turn_timeout()).await;
                Ok(format!("the run went on in the turn {turn}\n"))
            }
        }
    }
}

/// Checks files, and says what is wrong with each.
fn check(common: &Common, files: Vec<PathBuf>) -> Result<ExitCode> {
    let files = if files.is_empty() { workspace_files(common)? } else { files };
    let mut out = String::new();
    for path in &files {
        for SopFault { line, message } in faults(path) {
            // Writing into a string cannot fail.
            let _ = writeln!(out, "{}:{line}: {message}", path.display());
        }
    }
    print(&readable(&out))?;
    if out.is_empty() {
        eprintln!("{} {} in order", files.len(), if files.len() == 1 { "file is" } else { "files are" });
    }
    Ok(if out.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn workspace_files(common: &Common) -> Result<Vec<PathBuf>> {
    let folder = crate::prepared(common)?.home().workspace().join("sops");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".sop.md"))
        .collect();
    files.sort();
    Ok(files)
}

fn faults(path: &Path) -> Vec<SopFault> {
    aethon::check_sop(path).err().unwrap_or_default()
}

/// What a SOP cannot do without, as it is written behind its name.
fn needs(sop: &Value) -> String {
    let parameters = sop["parameters"].as_array().into_iter().flatten();
    let required = parameters.filter(|parameter| parameter["required"] == true);
    let written =
        |parameter: &Value| format!(" {}=...", readable(parameter["name"].as_str().unwrap_or_default()));
    required.map(written).collect()
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
