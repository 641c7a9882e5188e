//! Packs a journal into its ZIP: written beside it, synced, renamed, and only then is the journal removed. Wherever
//! this is interrupted, either the journal still exists or the ZIP is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use aethon_archive::{ArchiveWriter, Limits};
use jiff::Timestamp;

use crate::event::EventData;
use crate::journal::{Journal, Kind, private};
use crate::names::ZIP;
use crate::record::{ENDED, EventHead, FORMAT, Head, NewEvent, StoredManifest};
use crate::seal::Seal;

/// Entry name of the manifest.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Entry name of the events.
pub(crate) const EVENTS: &str = "events.jsonl";

/// Returns the entry name of a snapshot.
pub(crate) fn snapshot_entry(number: u64) -> String {
    format!("snapshots/{number:06}.json")
}

/// Creates the ZIP, sealed if there is a key, and removes the journal. Returns `false` if the journal had nothing worth keeping.
pub(crate) fn pack(journal: Journal, folder: &Path, seal: Option<&Seal>) -> io::Result<bool> {
    let Some(content) = Content::of(&journal)? else {
        journal.remove()?;
        return Ok(false);
    };
    let path = journal.zip();
    let temporary = folder.join(format!(".{}{ZIP}.new-{}", journal.stem(), std::process::id()));
    let made = write(&journal, &content, seal, &temporary).and_then(|()| fs::rename(&temporary, &path));
    if let Err(error) = made {
        // Report the first failure, not this one; the journal is still there.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    File::open(folder)?.sync_all()?;
    journal.remove()?;
    Ok(true)
}

/// Summary of a journal.
struct Content {
    head: Head,
    events: u64,
    /// Size of the events as lines.
    events_bytes: u64,
    snapshots: u64,
    last: EventHead,
}

impl Content {
    /// Reads the journal; `None` if it has no intact event.
    fn of(journal: &Journal) -> io::Result<Option<Self>> {
        let mut records = journal.records();
        let Some((Kind::Head, head)) = records.next()? else { return Ok(None) };
        let Ok(head) = serde_json::from_slice::<Head>(&head) else { return Ok(None) };
        let (mut events, mut events_bytes, mut snapshots, mut last) = (0, 0, 0, None);
        while let Some((kind, json)) = records.next()? {
            match kind {
                Kind::Head => break,
                Kind::Snapshot => snapshots += 1,
                Kind::Event => {
                    events += 1;
                    events_bytes += json.len() as u64 + 1;
                    last = Some(serde_json::from_slice::<EventHead>(&json)?);
                }
            }
        }
        Ok(last.map(|last| Self { head, events, events_bytes, snapshots, last }))
    }

    /// Returns an event that says that the recording was interrupted, if it was.
    fn closing(&self) -> io::Result<Option<Vec<u8>>> {
        if self.last.r#type == ENDED {
            return Ok(None);
        }
        let data = EventData::RecordingEnded { reason: "recovered" };
        let (seq, ts) = (self.last.seq + 1, time(&self.last.ts)?);
        let event = NewEvent { seq, ts, layer: data.layer(), r#type: data.name(), data, trace_id: "" };
        Ok(Some(serde_json::to_vec(&event)?))
    }
}

fn time(text: &str) -> io::Result<Timestamp> {
    text.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn write(journal: &Journal, content: &Content, seal: Option<&Seal>, path: &Path) -> io::Result<()> {
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    private(&file)?;
    let mut zip = ArchiveWriter::new(BufWriter::new(file), Limits::RECORDING);
    let closing = content.closing()?;
    let line = |out: &mut dyn Write, json: &[u8]| out.write_all(json).and_then(|()| out.write_all(b"\n"));
    let closing_bytes = closing.as_ref().map_or(0, |json| json.len() as u64 + 1);
    zip.add_written(EVENTS, content.events_bytes + closing_bytes, |out| {
        let mut records = journal.records();
        while let Some((kind, json)) = records.next()? {
            if kind == Kind::Event {
                line(out, &json)?;
            }
        }
        closing.iter().try_for_each(|json| line(out, json))
    })?;
    let (mut records, mut number) = (journal.records(), 0);
    while number < content.snapshots
        && let Some((kind, json)) = records.next()?
    {
        if kind == Kind::Snapshot {
            number += 1;
            zip.add_written(&snapshot_entry(number), json.len() as u64, |out| out.write_all(&json))?;
        }
    }
    let mut manifest = StoredManifest {
        format_version: FORMAT,
        session_id: content.head.session_id.clone(),
        started_at: time(&content.head.started_at)?,
        ended_at: time(&content.last.ts)?,
        version: content.head.version.clone(),
        events_count: content.events + u64::from(closing.is_some()),
        snapshots_count: number,
        entries: zip.sums().clone(),
        seal: None,
    };
    manifest.seal = seal.map(|seal| seal.sign(&manifest)).transpose()?;
    let manifest = serde_json::to_vec_pretty(&manifest)?;
    zip.add_written(MANIFEST, manifest.len() as u64, |out| out.write_all(&manifest))?;
    zip.finish()?.into_inner()?.sync_all()
}
