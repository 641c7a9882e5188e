//! `tasks list|show|cancel|pause|resume`: multi-turn work, through the daemon if one runs, else on the database.

use std::fmt::Write as _;
use std::process::ExitCode;

use aethon::core::visible::readable;
use aethon::core::work::WorkCommand;
use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};

use super::source::Source;
use super::{print, print_json};
use crate::args::{Common, TasksCommand};
use crate::daemon::{encoded, or_missing};

/// The maximum number listed.
const LISTED: usize = 50;

pub(crate) async fn run(common: &Common, command: TasksCommand) -> Result<ExitCode> {
    Source::run(common, async |source| Works(source).answer(command.clone()).await).await
}

/// The multi-turn work.
struct Works<'s>(&'s Source);

impl Works<'_> {
    async fn answer(&self, command: TasksCommand) -> Result<ExitCode> {
        match command {
            TasksCommand::List { json } => {
                let list = self.list().await?;
                if json { print_json(&list)? } else { print(&table(&list))? }
            }
            TasksCommand::Show { id, json } => {
                let work = self.show(&id).await?;
                if json { print_json(&work)? } else { print(&whole(&work))? }
            }
            TasksCommand::Cancel { id } => print(&line(&self.command(&id, WorkCommand::Stop).await?))?,
            TasksCommand::Pause { id: Some(id) } => {
                print(&line(&self.command(&id, WorkCommand::Pause).await?))?
            }
            TasksCommand::Resume { id: Some(id) } => {
                print(&line(&self.command(&id, WorkCommand::Resume).await?))?
            }
            TasksCommand::Pause { id: None } => {
                self.pause(true).await?;
                print("all work is paused\n")?;
            }
            TasksCommand::Resume { id: None } => {
                self.pause(false).await?;
                print("work continues\n")?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn list(&self) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => daemon.get(format!("/api/work?limit={LISTED}")).await,
            Source::Here(aethon) => {
                let book = aethon.work();
                let mut list = json!(book.status().await?);
                list["work"] = json!(book.works(false, LISTED).await?);
                Ok(list)
            }
        }
    }

    async fn show(&self, id: &str) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let work = daemon.find_json(format!("/api/work/{}", encoded(id))).await?;
                work.ok_or_else(|| anyhow!(missing(id)))
            }
            Source::Here(aethon) => {
                let work = aethon.work().work(id).await.map_err(|refusal| anyhow!("{refusal}"))?;
                Ok(json!(work.ok_or_else(|| anyhow!(missing(id)))?))
            }
        }
    }

    async fn command(&self, id: &str, command: WorkCommand) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let word = if command == WorkCommand::Stop { "cancel" } else { command.as_str() };
                let done = daemon.post(format!("/api/work/{}/{word}", encoded(id)), &json!({})).await;
                or_missing(done, || missing(id))
            }
            Source::Here(aethon) => {
                if aethon.work().work(id).await.map_err(|refusal| anyhow!("{refusal}"))?.is_none() {
                    bail!(missing(id));
                }
                Ok(json!(aethon.work().command(id, command).await.map_err(|refusal| anyhow!("{refusal}"))?))
            }
        }
    }

    async fn pause(&self, paused: bool) -> Result<()> {
        match self.0 {
            Source::Daemon(daemon) => {
                let word = if paused { "pause" } else { "resume" };
                daemon.post(format!("/api/work/all/{word}"), &json!({})).await.map(drop)
            }
            Source::Here(aethon) => Ok(aethon.work().pause(paused).await?),
        }
    }
}

fn missing(id: &str) -> String {
    format!("there is no work {id:?}; `aethon-cli tasks list` lists them")
}

fn text(value: &Value, key: &str) -> String {
    readable(value[key].as_str().unwrap_or_default())
}

fn line(work: &Value) -> String {
    let tasks = work["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let done = tasks.iter().filter(|task| task["state"] == "done").count();
    let command =
        work["wish"].as_str().map(|command| format!(" (to {})", readable(command))).unwrap_or_default();
    let (id, state, goal) = (text(work, "work_id"), text(work, "state"), text(work, "goal"));
    format!("{id}  {state}{command}  {done}/{}  {goal}\n", tasks.len())
}

fn table(list: &Value) -> String {
    let mut out: String = list["work"].as_array().into_iter().flatten().map(line).collect();
    if out.is_empty() {
        out.push_str("no work yet\n");
    }
    if list["enabled"] == false {
        out.push_str("work is off (work.enabled): nothing is worked on\n");
    } else if list["paused"] == true {
        out.push_str("everything is paused; `aethon-cli tasks resume` continues it\n");
    }
    out
}

fn whole(work: &Value) -> String {
    let mut out = line(work);
    for task in work["tasks"].as_array().into_iter().flatten() {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "  {}. {} ({})", task["number"], text(task, "title"), text(task, "state"));
        for (key, name) in [("evidence", "evidence"), ("error", "why not")] {
            if task[key].is_string() {
                let _ = writeln!(out, "     {name}: {}", text(task, key));
            }
        }
    }
    let (turns, cost) = (&work["iterations"], &work["cost_usd"]);
    let _ =
        writeln!(out, "  {turns} turns, {:.0} s, {cost} USD", work["seconds"].as_f64().unwrap_or_default());
    if work["reason"].is_string() {
        let _ = writeln!(out, "  ended early: {}", text(work, "reason"));
    }
    out
}
