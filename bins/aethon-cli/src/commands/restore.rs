//! `restore`: a home from a backup, or its database from a copy.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use aethon::Home;
use aethon::backup::{self, Key, Needs, Opened, PutBack, Restored, Target};
use aethon::config::Sources;
use aethon::core::audit::AuditAction;
use aethon::core::clock::{Clock, SystemClock};
use aethon::core::secret::Secret;
use aethon::rows::{self, Place, Request};
use anyhow::{Context, Result};

use super::passphrase::passphrase;
use super::progress::ProgressLine;
use super::{note, print, print_json};
use crate::args::{Common, RestoreArgs};

/// The largest file with identities.
const MAX_IDENTITY: u64 = 1 << 20;

pub(crate) fn run(common: &Common, arguments: &RestoreArgs) -> Result<ExitCode> {
    let sources = Sources::from_process(common.home.clone(), None, Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    let home = Home::at(&sources.home);
    let target = Target { home, replace: arguments.replace, dry_run: arguments.dry_run };
    match Opened::open(&arguments.file)? {
        Opened::Database => {
            let put_back = backup::put_back(&arguments.file, &target, SystemClock.now())?;
            report_copy(&put_back, arguments.json)?;
        }
        Opened::Backup(file, needs) => {
            let restored = restore(arguments, &target, (&file, needs))?;
            report(common, &restored, arguments.json)?;
            if let Some(rows) = restored.rows.as_ref().filter(|_| !restored.dry_run) {
                return put_back_rows(common, rows, (&target.home, arguments.json));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn restore(arguments: &RestoreArgs, target: &Target, (file, needs): (&File, Needs)) -> Result<Restored> {
    let key = match (needs, &arguments.identity) {
        (Needs::Nothing, _) => None,
        (Needs::Passphrase, _) => Some(Key::passphrase(&passphrase()?)),
        (Needs::Identity, Some(path)) => Some(identity(path)?),
        (Needs::Identity, None) => {
            return Err(aethon::Error::refused(format!(
                "{} is encrypted to a recipient: pass the file with its identity as --identity FILE",
                arguments.file.display()
            ))
            .into());
        }
    };
    let mut line = ProgressLine::new();
    let (mut before, mut what) = (0, "checking");
    let mut show = |done: u64, total: u64| {
        // The second pass starts at 0 again.
        if done < before {
            what = "restoring";
        }
        before = done;
        line.show(what, done, total.max(1));
        true
    };
    Ok(backup::restore(&arguments.file, file, key.as_ref(), target, SystemClock.now(), &mut show)?)
}

/// Puts the rows of a backup into the storage that the restored configuration names, which must be empty.
fn put_back_rows(common: &Common, rows: &Path, (home, json): (&Home, bool)) -> Result<ExitCode> {
    let copied = crate::setup::builder(common).load().map_err(anyhow::Error::from).and_then(|prepared| {
        let storage = &prepared.config().storage;
        let to = match storage.is_on_server() {
            true => Place::Server(storage.url.clone()),
            false => Place::File(home.database()),
        };
        let request = Request { from: Place::Lines(rows.to_owned()), to, verify: true };
        let mut line = ProgressLine::new();
        let mut show = |what: &str, done, total: u64| line.show(what, done, total.max(1));
        let copying = rows::copy(&request, &mut show);
        crate::setup::finish(async { Ok(copying.await?) })
    });
    match copied {
        Ok(copied) => {
            std::fs::remove_file(rows).with_context(|| format!("{} cannot be removed", rows.display()))?;
            if !json {
                print(&format!("{} rows are in the storage again, compared one by one\n", copied.rows))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            eprintln!(
                "aethon-cli: the home is restored, and its data is not in the storage yet: {error}. It lies in {0}; \
                 `aethon-cli storage copy --from {0} --to URL` puts it into an empty one",
                rows.display()
            );
            Ok(ExitCode::FAILURE)
        }
    }
}

fn identity(path: &Path) -> Result<Key> {
    use std::io::Read;
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_IDENTITY).read_to_string(&mut text))
        .with_context(|| format!("{} cannot be read", path.display()))?;
    let refused =
        |error: backup::ArchiveError| aethon::Error::refused(format!("{}: {error}", path.display()));
    Ok(Key::identities(&Secret::new(text)).map_err(refused)?)
}

fn report(common: &Common, restored: &Restored, json: bool) -> Result<()> {
    if !restored.dry_run && restored.database_format == Some(backup::DATABASE_FORMAT) {
        note(
            &crate::setup::sources(common)?,
            AuditAction::Backup,
            (&restored.created_at.to_string(), "restored"),
        )?;
    }
    if !restored.dry_run
        && let Err(error) = crate::setup::builder(common).load()
    {
        eprintln!("warning: before a start, this needs a hand: {error}");
    }
    if json {
        return print_json(&serde_json::to_value(restored)?);
    }
    let done = if restored.dry_run { "would be restored" } else { "restored" };
    let (home, made) = (restored.home.display(), restored.created_at);
    let mut text = format!("{home} {done} from the backup of {made:.0} (aethon {})\n", restored.version);
    for line in restored.contents.lines() {
        text += &format!("  {line}\n");
    }
    for line in restored.contents.missing() {
        text += &format!("  not: {line}\n");
    }
    if let Some(aside) = &restored.moved_to {
        let is = if restored.dry_run { "would be moved to" } else { "is now" };
        text += &format!("the old home {is} {}\n", aside.display());
    }
    print(&text)
}

fn report_copy(put_back: &PutBack, json: bool) -> Result<()> {
    if json {
        return print_json(&serde_json::to_value(put_back)?);
    }
    let done = if put_back.dry_run { "would be put back as" } else { "was put back as" };
    let mut text = format!("the copy {done} {}\n", put_back.database.display());
    if let Some(aside) = &put_back.moved_to {
        let is = if put_back.dry_run { "would be kept as" } else { "is kept as" };
        text += &format!("  the database that was there {is} {}\n", aside.display());
    }
    if put_back.format < put_back.known_format {
        text += &format!(
            "  it has format {}: start the version of aethon that wrote it; this one would bring it to format {} again\n",
            put_back.format, put_back.known_format
        );
    }
    print(&text)
}
