//! An opened recording: first its structure is checked, then, unless done before, every digest and every line.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use aethon_archive::{Archive, Kind, Limits, Sha256};
use aethon_core::recording::{
    EventPage, EventQuery, RecordedEvent, RecordedState, RecordingEntry, SnapshotSummary,
};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::journal::MAX_RECORD;
use crate::pack::{EVENTS, MANIFEST, snapshot_entry};
use crate::record::{EventHead, FORMAT, SnapshotHead, StoredManifest, StoredSnapshot};

/// Maximum size of a file.
const MAX_FILE: u64 = 256 << 20;

/// Maximum size of a manifest.
const MAX_MANIFEST: u64 = 4 << 20;

/// Maximum length of a text in a manifest.
const MAX_WORD: usize = 1_000;

/// A recording with a valid structure.
#[derive(Debug)]
pub(crate) struct Opened {
    archive: Archive<BufReader<File>>,
    /// The position of each file in the archive.
    positions: HashMap<String, usize>,
    pub(crate) manifest: StoredManifest,
}

impl Opened {
    /// Opens a file and checks its structure: the directory, the manifest, and that the two agree.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut archive = Archive::open(BufReader::new(open_file(path)?), Limits::RECORDING)?;
        // On case-insensitive file systems two such names are one.
        let mut names = HashSet::new();
        if let Some(entry) = archive.entries().iter().find(|entry| !names.insert(entry.name.to_lowercase())) {
            return Err(Error::bad(format!("the name {:?} stands in it twice", entry.name)));
        }
        let position = archive.position(MANIFEST).ok_or_else(|| Error::bad("it has no manifest.json"))?;
        let manifest = serde_json::from_slice(&archive.read_whole(position, MAX_MANIFEST)?)
            .map_err(|error| Error::bad(format!("its manifest.json cannot be read: {error}")))?;
        let files = archive.entries().iter().enumerate().filter(|(_, entry)| entry.kind == Kind::File);
        let positions = files.map(|(position, entry)| (entry.name.clone(), position)).collect();
        let opened = Self { archive, positions, manifest };
        opened.check_manifest()?;
        Ok(opened)
    }

    fn check_manifest(&self) -> Result<()> {
        let manifest = &self.manifest;
        if manifest.format_version != FORMAT {
            let version = manifest.format_version;
            return Err(Error::bad(format!(
                "it is of the format {version}, and this program knows {FORMAT}"
            )));
        }
        if manifest.session_id.len() > MAX_WORD || manifest.version.len() > MAX_WORD {
            return Err(Error::bad("its manifest has a name that is too long"));
        }
        if manifest.snapshots_count > Limits::RECORDING.max_entries {
            return Err(Error::bad("its manifest claims more snapshots than a recording can have"));
        }
        if let Some(missing) = manifest.entries.keys().find(|name| !self.positions.contains_key(*name)) {
            return Err(Error::bad(format!("{missing:?} is in its manifest, and not in the file")));
        }
        let is_ours = |name: &str| name == EVENTS || snapshot_number(name).is_some();
        let ours: Vec<&str> =
            self.positions.keys().map(String::as_str).filter(|name| is_ours(name)).collect();
        if let Some(unknown) = ours.iter().find(|name| !manifest.entries.contains_key(**name)) {
            return Err(Error::bad(format!("{unknown:?} is not in its manifest")));
        }
        if !ours.contains(&EVENTS) {
            return Err(Error::bad("it has no events.jsonl"));
        }
        let numbers: Vec<u64> = ours.iter().filter_map(|name| snapshot_number(name)).collect();
        let has_all = (1..=manifest.snapshots_count).all(|number| numbers.contains(&number));
        if !has_all || numbers.len() as u64 != manifest.snapshots_count {
            return Err(Error::bad("it has other snapshots than its manifest says"));
        }
        Ok(())
    }

    /// Verifies everything: each digest, each event, each snapshot.
    pub(crate) fn check(&mut self) -> Result<()> {
        for (name, expected) in &self.manifest.entries {
            let position = position(&self.positions, name)?;
            let mut content = Summed { source: self.archive.read(position)?, sum: Sha256::default() };
            if name == EVENTS {
                check_events(&mut content, self.manifest.events_count)?;
            }
            io::copy(&mut content, &mut io::sink()).map_err(unpacking)?;
            if !content.sum.finish().eq_ignore_ascii_case(expected) {
                return Err(Error::bad(format!("{name:?} has another checksum than the manifest says")));
            }
        }
        self.snapshots().map(drop)
    }

    /// Returns the entries that the manifest names.
    pub(crate) fn entries(&self) -> Vec<RecordingEntry> {
        let entry = |(name, sum): (&String, &String)| {
            let size = self.archive.entries()[*self.positions.get(name)?].size;
            Some(RecordingEntry { name: name.clone(), size, sha256: sum.to_ascii_lowercase() })
        };
        self.manifest.entries.iter().filter_map(entry).collect()
    }

    /// Returns a page of events.
    pub(crate) fn events(&mut self, query: &EventQuery) -> Result<EventPage> {
        let mut lines = Lines::of(self.archive.read(position(&self.positions, EVENTS)?)?);
        let mut page = EventPage::default();
        while let Some(line) = lines.next()? {
            let unreadable = |error| Error::bad(format!("an event cannot be read: {error}"));
            let head: EventHead = serde_json::from_slice(&line).map_err(unreadable)?;
            let is_wanted = query.after.is_none_or(|after| head.seq > after)
                && query.layer.is_none_or(|layer| layer == head.layer)
                && query.kind.as_ref().is_none_or(|kind| *kind == head.r#type);
            if !is_wanted {
                continue;
            }
            if page.events.len() >= query.limit {
                page.next_after = page.events.last().map(|event: &RecordedEvent| event.seq);
                break;
            }
            page.events.push(serde_json::from_slice(&line).map_err(unreadable)?);
        }
        Ok(page)
    }

    /// Returns all snapshots without their content.
    pub(crate) fn snapshots(&mut self) -> Result<Vec<SnapshotSummary>> {
        let (mut count, last) = (0_u64, self.manifest.snapshots_count);
        let mut summary = |n: u64| {
            let head: SnapshotHead = self.snapshot_file(n)?;
            count = after(count, head.keeps, n)? + head.messages.len() as u64;
            Ok(SnapshotSummary { n, ts: head.ts, message_count: count, turn: head.turn })
        };
        (1..=last).map(&mut summary).collect()
    }

    /// Returns the state after a turn, replayed from the first snapshot.
    pub(crate) fn state(&mut self, number: u64) -> Result<RecordedState> {
        if number == 0 || number > self.manifest.snapshots_count {
            let count = self.manifest.snapshots_count;
            return Err(Error::not_found(format!(
                "there is no snapshot {number}; the recording has {count}"
            )));
        }
        let mut messages = Vec::new();
        let (mut system_prompt, mut tools, mut model, mut cwd) = Default::default();
        let (mut ts, mut turn) = (None, None);
        for n in 1..=number {
            let snapshot: StoredSnapshot = self.snapshot_file(n)?;
            let stand = after(messages.len() as u64, snapshot.keeps, n)?;
            messages.truncate(usize::try_from(stand).unwrap_or(usize::MAX));
            let recorded = self.manifest.started_at;
            messages.extend(snapshot.messages.into_iter().map(|message| message.into_message(recorded)));
            replace(&mut system_prompt, snapshot.system_prompt);
            replace(&mut tools, snapshot.tools);
            replace(&mut model, snapshot.model);
            replace(&mut cwd, snapshot.cwd);
            (ts, turn) = (snapshot.ts, snapshot.turn);
        }
        let summary = SnapshotSummary { n: number, ts, message_count: messages.len() as u64, turn };
        // Only the library has the key.
        Ok(RecordedState { summary, messages, system_prompt, tools, model, cwd, is_own: false })
    }

    /// Returns the file itself, at its start.
    pub(crate) fn into_file(self) -> Result<File> {
        let mut file = self.archive.into_source().into_inner();
        file.rewind().map_err(unreadable)?;
        Ok(file)
    }

    fn snapshot_file<Stored: serde::de::DeserializeOwned>(&mut self, n: u64) -> Result<Stored> {
        let position = position(&self.positions, &snapshot_entry(n))?;
        let content = self.archive.read_whole(position, MAX_RECORD as u64)?;
        serde_json::from_slice(&content)
            .map_err(|error| Error::bad(format!("snapshot {n} cannot be read: {error}")))
    }
}

fn position(positions: &HashMap<String, usize>, name: &str) -> Result<usize> {
    positions.get(name).copied().ok_or_else(|| Error::bad(format!("it has no {name}")))
}

/// Opens a regular file of a sensible size.
fn open_file(path: &Path) -> Result<File> {
    // A link in the folder must not expose files elsewhere, and opening a pipe must not block.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let refused = |error: io::Error| match error.kind() {
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Error::bad("the file is a link"),
        io::ErrorKind::NotFound => Error::not_found("there is no such recording"),
        _ => unreadable(error),
    };
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(refused)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(Error::bad("it is not a file"));
    }
    if about.len() > MAX_FILE {
        return Err(Error::bad(format!("the file is larger than {} MiB", MAX_FILE >> 20)));
    }
    Ok(file)
}

fn check_events(content: impl Read, expected: u64) -> Result<()> {
    let (mut lines, mut count, mut last) = (Lines::of(content), 0_u64, None);
    while let Some(line) = lines.next()? {
        let event: EventHead = serde_json::from_slice(&line)
            .map_err(|error| Error::bad(format!("event {} cannot be read: {error}", count + 1)))?;
        if last.is_some_and(|last| event.seq <= last) {
            return Err(Error::bad(format!("event {} is out of order", count + 1)));
        }
        (count, last) = (count + 1, Some(event.seq));
    }
    if count != expected {
        return Err(Error::bad(format!("it has {count} events, and its manifest says {expected}")));
    }
    Ok(())
}

fn unreadable(error: io::Error) -> Error {
    Error::io("the recording cannot be read", error)
}

fn unpacking(error: io::Error) -> Error {
    aethon_archive::unpacking(error).into()
}

/// Replaces a value if the snapshot has a new one.
fn replace<T>(what: &mut T, by: Option<T>) {
    if let Some(by) = by {
        *what = by;
    }
}

/// Returns how many messages a snapshot keeps from the one before.
fn after(before: u64, keeps: Option<u64>, n: u64) -> Result<u64> {
    let keeps = keeps.unwrap_or(before);
    if keeps > before {
        return Err(Error::bad(format!("snapshot {n} goes on from messages that are not there")));
    }
    Ok(keeps)
}

/// Returns the number of a snapshot from its entry name.
fn snapshot_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix("snapshots/")?.strip_suffix(".json")?.parse().ok()?;
    (snapshot_entry(number) == name).then_some(number)
}

/// Reads lines of bounded length.
struct Lines<Source: Read>(BufReader<Source>);

impl<Source: Read> Lines<Source> {
    fn of(source: Source) -> Self {
        Self(BufReader::with_capacity(64 << 10, source))
    }

    /// Returns the next line that is not empty.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let mut line = Vec::new();
            let most = MAX_RECORD as u64 + 1;
            let read = Read::take(&mut self.0, most).read_until(b'\n', &mut line).map_err(unpacking)?;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 == most && line.last() != Some(&b'\n') {
                return Err(Error::bad("one of its events is too long"));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }
}

/// Hashes the bytes read through it.
struct Summed<Source> {
    source: Source,
    sum: Sha256,
}

impl<Source: Read> Read for Summed<Source> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(into)?;
        self.sum.update(&into[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
