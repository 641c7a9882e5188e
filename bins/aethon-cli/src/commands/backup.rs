//! `backup`: the whole home in one file.
//!
//! It works on the home itself, whether a daemon runs or not. An invalid configuration is no obstacle: that is when a backup is
//! wanted most.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aethon::Home;
use aethon::backup::{self, Created, DatabaseUse, Lock, Phase, Progress, Recipient, Request};
use aethon::config::schema::Backup as Options;
use aethon::config::{Sources, private_file};
use aethon::core::audit::AuditAction;
use aethon::core::clock::{Clock, SystemClock};
use anyhow::{Context, Result};

use super::passphrase::new_passphrase;
use super::progress::ProgressLine;
use super::{note, print, print_json};
use crate::args::{BackupArgs, Common};

pub(crate) fn run(common: &Common, arguments: BackupArgs) -> Result<ExitCode> {
    let sources = Sources::from_process(common.home.clone(), common.config.clone(), Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    let loaded = crate::setup::builder(common).load();
    let loaded = loaded.map(|prepared| {
        let storage = &prepared.config().storage;
        (prepared.config().backup.clone(), storage.is_on_server().then(|| storage.url.clone()))
    });
    let (options, server) = loaded.unwrap_or_else(|error| {
        eprintln!("warning: the configuration is not valid, so the keys of [backup] count as unset: {error}");
        (Options::default(), None)
    });
    let home = Home::at(&sources.home);
    let lock = lock(&arguments, &options)?;
    let now = SystemClock.now();
    let request = Request {
        target: target(&home, &arguments, &options, |folder| backup::new_file(folder, now, lock.is_some()))?,
        config: sources.config_file(),
        with_secrets: arguments.with_secrets,
        lock,
        database: server.map_or(DatabaseUse::Closed, DatabaseUse::OnServer),
    };
    let is_on_server = matches!(request.database, DatabaseUse::OnServer(_));
    let created = {
        let mut line = ProgressLine::new();
        backup::create(&home, &request, now, &mut |progress: Progress| {
            let what = match progress.phase {
                Phase::Database => "copying the database",
                Phase::Files => "adding files",
                Phase::Checking => "checking",
            };
            line.show(what, progress.done, progress.total);
            true
        })?
    };
    // A database of an older format is for `upgrade` to change, not for a row of the audit.
    if is_on_server || created.database_format == Some(backup::DATABASE_FORMAT) {
        note(&sources, AuditAction::Backup, (&created.file.display().to_string(), "made"))?;
    }
    report(&created, arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the lock to encrypt with: the one of the flags, else the recipient of the configuration.
fn lock(arguments: &BackupArgs, options: &Options) -> Result<Option<Lock>> {
    if arguments.passphrase {
        return Ok(Some(Lock::Passphrase(new_passphrase()?)));
    }
    let configured = Some(options.recipient.trim()).filter(|recipient| !recipient.is_empty());
    let Some(recipient) = arguments.recipient.as_deref().or(configured) else { return Ok(None) };
    let recipient = Recipient::parse(recipient).map_err(|error| aethon::Error::refused(error.to_string()))?;
    Ok(Some(Lock::Recipient(recipient)))
}

/// Returns the file to write.
fn target(
    home: &Home,
    arguments: &BackupArgs,
    options: &Options,
    new_file: impl FnOnce(&Path) -> PathBuf,
) -> Result<PathBuf> {
    match &arguments.file {
        Some(folder) if folder.is_dir() => Ok(new_file(folder)),
        // What ends like a folder is meant to be one.
        Some(folder) if folder.as_os_str().as_encoded_bytes().ends_with(b"/") => {
            private_file::create_directory(folder)
                .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
            Ok(new_file(folder))
        }
        Some(file) => Ok(file.clone()),
        None => {
            let folder = backup::folder(options, home);
            // Only within a home that exists; a mistyped one is refused later.
            if home.path().exists() {
                backup::create_folder(&folder)?;
            }
            Ok(new_file(&folder))
        }
    }
}

fn report(created: &Created, json: bool) -> Result<()> {
    for skipped in &created.skipped {
        let name = aethon::core::visible::readable(&skipped.name);
        eprintln!("warning: left out: {name} {}", skipped.reason);
    }
    if !created.secrets_in_config.is_empty() {
        let (keys, care) = (
            created.secrets_in_config.join(", "),
            match created.encrypted {
                true => "",
                false => "; keep the file as you keep them",
            },
        );
        eprintln!(
            "warning: these secrets stand in the configuration file itself, and so in the backup: {keys}{care} \
             (`aethon-cli secrets set NAME` stores a secret apart, and ${{credential:NAME}} refers to it)"
        );
    }
    if json {
        return print_json(&serde_json::to_value(created)?);
    }
    let kind = if created.encrypted { "encrypted, " } else { "" };
    let mut text =
        format!("{} ({kind}{} KiB, checked)\n", created.file.display(), created.size.div_ceil(1024));
    for line in created.contents.lines() {
        text += &format!("  {line}\n");
    }
    for line in created.contents.missing() {
        text += &format!("  not: {line}\n");
    }
    print(&text)
}
