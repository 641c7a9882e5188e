//! Installs and removes the service, and reports how it is.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aethon::Prepared;
use anyhow::{Context, Result, bail};
use serde_json::json;

use super::supervisor::{self, Supervisor};
use super::unit::{MARK, Unit};
use crate::args::{Common, ServiceCommand};
use crate::commands::{print, print_json};
use crate::daemon::Finder;

/// How long the daemon may take after the grace of running turns.
pub(crate) const LAST_SECONDS: u64 = 35;

/// Runs a command on the service.
pub(crate) async fn run(common: &Common, command: ServiceCommand) -> Result<ExitCode> {
    match command {
        ServiceCommand::Install { program, force, no_start } => install(common, program, force, !no_start),
        ServiceCommand::Uninstall => uninstall(),
        ServiceCommand::Status { json } => status(common, json).await,
    }
}

fn install(common: &Common, program: Option<PathBuf>, force: bool, starts: bool) -> Result<ExitCode> {
    let prepared = crate::setup::prepared(common)?;
    let program = match program {
        Some(program) => {
            program.canonicalize().with_context(|| format!("{} is not there", program.display()))?
        }
        None => beside_this()?,
    };
    let manager = Supervisor::HERE;
    let file = manager.file()?;
    if let Some(text) = found(&file)?
        && !text.contains(MARK)
        && !force
    {
        let shown = file.display();
        let words = format!(
            "{shown} was not written by this command; --force replaces it and keeps it as {shown}.bak"
        );
        return Err(aethon::Error::refused(words).into());
    }
    let unit = unit(common, &prepared, program)?;
    write(&file, &manager.text(&unit))?;
    print(&format!("wrote {}\n", file.display()))?;
    if let Some(variable) = forgotten_key(&prepared) {
        print(&format!(
            "warning: the key of the model comes from {variable}, which the service does not see; store it:\n  aethon-cli secrets set {name}\n  aethon-cli config set model.api_key '${{credential:{name}}}'\n",
            name = prepared.config().model.provider.name()
        ))?;
    }
    let commands = manager.starting(&file);
    if !starts {
        return print(&format!("start it with:\n{}", listed(&commands))).map(|()| ExitCode::SUCCESS);
    }
    for (done, command) in commands.iter().enumerate() {
        if let Err(error) = supervisor::run(command) {
            print(&format!("not started; when that is mended, run:\n{}", listed(&commands[done..])))?;
            return Err(error);
        }
        print(&format!("ran {}\n", command.join(" ")))?;
    }
    if manager.lingers() == Some(false) {
        print("it stops when you sign out; to keep it running: loginctl enable-linger\n")?;
    }
    print("it runs now, and starts with every session; `aethon-cli service status` shows how it is\n")?;
    Ok(ExitCode::SUCCESS)
}

fn uninstall() -> Result<ExitCode> {
    let manager = Supervisor::HERE;
    let file = manager.file()?;
    let Some(text) = found(&file)? else {
        print("no service is installed; nothing was changed\n")?;
        return Ok(ExitCode::SUCCESS);
    };
    if !text.contains(MARK) {
        let words = format!("{} was not written by `service install`; remove it yourself", file.display());
        return Err(aethon::Error::refused(words).into());
    }
    // The file goes even if the manager does not answer, which then has nothing to start.
    let mut failed = None;
    for command in manager.stopping(&file) {
        match supervisor::run(&command) {
            Ok(()) => print(&format!("ran {}\n", command.join(" ")))?,
            Err(error) => failed = Some(error),
        }
    }
    std::fs::remove_file(&file).with_context(|| format!("{} cannot be removed", file.display()))?;
    print(&format!("removed {}; your home is untouched\n", file.display()))?;
    for command in manager.forgetting() {
        failed = failed.or(supervisor::run(&command).err());
    }
    match failed {
        Some(error) => Err(error.context("the service may still run until you sign out")),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Shows whether it is installed, its state in the manager, and whether a daemon answers. The exit status is 0 if one does.
async fn status(common: &Common, as_json: bool) -> Result<ExitCode> {
    let manager = Supervisor::HERE;
    let file = manager.file()?;
    let is_installed = found(&file)?.is_some();
    let state = manager.state().unwrap_or_else(|| "unknown".to_owned());
    let prepared = crate::setup::prepared(common)?;
    let daemon = Finder::new(&prepared, None).find()?;
    let answers = match &daemon {
        Some(daemon) => {
            daemon.get("/api/status".into()).await.err().map_or(Ok(()), |error| Err(format!("{error:#}")))
        }
        None => Err("no aethon-server runs on this home".to_owned()),
    };
    let address = daemon.as_ref().map(|daemon| daemon.base.clone());
    if as_json {
        print_json(&json!({
            "file": file,
            "installed": is_installed,
            "state": state,
            "address": address,
            "answers": answers.is_ok(),
            "error": answers.as_ref().err(),
        }))?;
    } else {
        let installed = match is_installed {
            true => format!("installed: {}", file.display()),
            false => "not installed; `aethon-cli service install` does that".to_owned(),
        };
        let daemon = match (&answers, address) {
            (Ok(()), Some(address)) => format!("aethon-server answers at {address}"),
            (Ok(()), None) => String::new(),
            (Err(why), _) => why.clone(),
        };
        print(&format!("{installed}\nservice manager: {state}\n{daemon}\n"))?;
    }
    Ok(if answers.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn unit(common: &Common, prepared: &Prepared, program: PathBuf) -> Result<Unit> {
    let home = prepared.home().path().to_owned();
    let mut arguments = Vec::new();
    if common.home.is_some() {
        arguments.extend(["--home".to_owned(), absolute(&home)?]);
    }
    if let Some(config) = &common.config {
        arguments.extend(["--config".to_owned(), absolute(config)?]);
    }
    if let Some(set) = common.sets.first() {
        let words =
            format!("--set {set} lasts for one run only; write it with `aethon-cli config set` first");
        return Err(aethon::Error::refused(words).into());
    }
    let stop_seconds = prepared.config().server.shutdown_grace + LAST_SECONDS;
    Ok(Unit { program, arguments, home, stop_seconds })
}

fn absolute(path: &Path) -> Result<String> {
    let path = std::path::absolute(path).with_context(|| format!("{} has no full path", path.display()))?;
    let Some(text) = path.to_str().filter(|text| !text.chars().any(char::is_control)) else {
        bail!("{} cannot stand in a service file", path.display());
    };
    Ok(text.to_owned())
}

/// Returns the daemon's program, which stands beside this one.
fn beside_this() -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let program = own.with_file_name("aethon-server");
    if !program.is_file() {
        let words = format!("there is no {}; name the program with --program FILE", program.display());
        return Err(aethon::Error::refused(words).into());
    }
    Ok(program)
}

/// Returns the variable that has the key, if nothing but the environment of this shell has it.
fn forgotten_key(prepared: &Prepared) -> Option<&'static str> {
    let model = &prepared.config().model;
    let variable = model.provider.key_variable()?;
    (model.api_key.expose().is_empty() && crate::environment::is_set(variable)).then_some(variable)
}

fn found(file: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", file.display())),
    }
}

/// Writes the service file, and keeps a foreign one beside it.
fn write(file: &Path, text: &str) -> Result<()> {
    let shown = file.display();
    if found(file)?.is_some_and(|text| !text.contains(MARK)) {
        std::fs::rename(file, file.with_added_extension("bak"))
            .with_context(|| format!("{shown} cannot be kept"))?;
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    // The manager must never read half of it.
    let draft = file.with_added_extension("new");
    std::fs::write(&draft, text).with_context(|| format!("{shown} cannot be written"))?;
    std::fs::rename(&draft, file).with_context(|| format!("{shown} cannot be written"))
}

fn listed(commands: &[Vec<String>]) -> String {
    commands.iter().map(|command| format!("  {}\n", command.join(" "))).collect()
}
