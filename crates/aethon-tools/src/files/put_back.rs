//! Takes changes of files back: for the owner, by the same rules and in the same steps by which tools write.
//!
//! A file is written only once, with the content that taking back its changes leads to, and only while it is what the last of them
//! made of it. That it is put back is recorded before it is, so that this can be taken back, too.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::audit::{AuditAction, AuditEntry, AuditLog};
use aethon_core::background::BY_OWNER;
use aethon_core::error::{Error, Result};
use aethon_core::file_changes::{
    ChangeKind, ChangeState, FileChange, FileChanges, FileHistory, FilePutBack, PutBackOutcome,
};
use aethon_core::ids::{SessionId, TurnId, unique};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use jiff::Timestamp;

use self::surveyed::{Surveyed, last_act};
use super::workspace::Workspace;
use super::writable::Writable;
use crate::changes::{
    Act, ChangeJournal, Content, Earlier, FileState, Head, Record, RecordName, Step, Written, blocking, walk,
};
use crate::options::Options;

/// The changes that tools have made to files.
#[derive(Clone)]
pub struct ChangedFiles {
    workspace: Arc<Workspace>,
    journal: ChangeJournal,
    /// Two acts at once would see each other's files half done.
    acting: Arc<Mutex<()>>,
    /// Where acts are noted.
    audit: Option<Arc<dyn AuditLog>>,
}

/// A changed file, as it is now.
struct Now {
    path: PathBuf,
    /// As tools show it.
    shown: String,
    /// `Err` says why it cannot be looked at; a folder that is not there is no place.
    place: std::result::Result<Option<Writable>, String>,
    content: Content,
}

/// What taking back changes of a file leads to.
struct Target {
    content: Content,
    /// The records that are past then.
    of: Vec<String>,
    mode: Option<u32>,
    /// Why earlier changes were not reached.
    stop: Option<Stop>,
}

/// Why changes before some other could not be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    ChangedSince,
    NotKept,
}

/// Why a file stays as it is: taking back what cannot be undone would lose it.
const TOO_LARGE: &str =
    "as it is now, it is too large to be kept, so putting it back could not be undone; change it yourself";
const TOO_MANY: &str =
    "so many files are put back at once that this one could not be made again; put files back once more";

/// A file that is as it was put back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IsPutBack {
    /// As tools show it.
    pub(super) path: String,
    /// Whether there was no such file before the changes.
    pub(super) is_removed: bool,
}

/// What an act tells: what happened to each file, and what other instances have to know.
#[derive(Default)]
struct Done {
    files: Vec<FilePutBack>,
    written: Vec<RecordName>,
    removed: Vec<RecordName>,
}

impl ChangedFiles {
    /// The changes of this journal, of files that tools with these options may write.
    pub fn new(options: &Options, journal: ChangeJournal) -> Self {
        Self { workspace: Arc::new(Workspace::new(options)), journal, acting: Arc::default(), audit: None }
    }

    /// The same, noting in this log what is put back.
    #[must_use]
    pub fn noting_in(self, audit: Arc<dyn AuditLog>) -> Self {
        Self { audit: Some(audit), ..self }
    }

    /// The records of a session since it was created. Blocks.
    fn records(&self, session: &SessionId, since: Timestamp) -> io::Result<Vec<Record>> {
        let mut records = self.journal.records(session)?;
        records.retain(|record| record.head.at >= since);
        Ok(records)
    }

    /// Acts on them, one act at a time, and returns what happened to each file. `outcome`: what the audit calls it.
    async fn act(
        &self,
        session: &SessionId,
        since: Timestamp,
        outcome: &str,
        act: impl FnOnce(&Self, &[Record]) -> io::Result<Done> + Send + 'static,
    ) -> Result<Vec<FilePutBack>> {
        self.journal.fetch(session).await;
        let (own, of) = (self.clone(), session.clone());
        let acted = blocking(move || {
            let _acting = own.acting.lock().unwrap_or_else(PoisonError::into_inner);
            let mut done = act(&own, &own.records(&of, since)?)?;
            done.removed.extend(own.journal.make_room()?);
            Ok(done)
        });
        let done = acted.await.map_err(|error| failed(&error))?;
        self.journal.share(&done.written, &done.removed).await;
        self.note(session, outcome, &done.files).await;
        Ok(done.files)
    }

    async fn note(&self, session: &SessionId, outcome: &str, files: &[FilePutBack]) {
        let Some(audit) = self.audit.as_ref().filter(|_| !files.is_empty()) else { return };
        let subject = match files {
            [one] => one.path.clone(),
            many => format!("{} files", many.len()),
        };
        let lines: Vec<String> =
            files.iter().map(|file| format!("{:?}: {}", file.path, file.outcome.as_str())).collect();
        let entry = AuditEntry::new(self.journal.now(), AuditAction::Files, subject, outcome);
        let entry = entry.by(BY_OWNER).in_session(session).with_detail(lines.join("\n"));
        tracing::info!(%session, outcome, files = files.len(), "noted in the audit");
        if let Err(error) = audit.record(entry).await {
            tracing::warn!(%error, "that files were put back cannot be noted in the audit");
        }
    }

    /// Returns the files that were put back after a turn and are so still, by the records that are here. With `beyond`, only changes
    /// from before that turn count.
    pub(super) async fn put_back_since(
        &self,
        session: &SessionId,
        after: &TurnId,
        beyond: Option<&TurnId>,
    ) -> Result<Vec<IsPutBack>> {
        let (own, session) = (self.clone(), session.clone());
        let (after, beyond) = (after.clone(), beyond.cloned());
        let news = blocking(move || {
            if !own.journal.has_put_back_since(&session, &after)? {
                return Ok(Vec::new());
            }
            Ok(own.news(&own.journal.records(&session)?, &after, beyond.as_ref()))
        });
        news.await.map_err(|error| failed(&error))
    }

    /// Returns whether there are records of a session, those of other instances included. Cheap: no record is opened.
    pub(super) async fn has_records(&self, session: &SessionId) -> Result<bool> {
        self.journal.fetch(session).await;
        let (journal, session) = (self.journal.clone(), session.clone());
        let names = blocking(move || journal.names_of(&session)).await;
        Ok(!names.map_err(|error| failed(&error))?.is_empty())
    }

    /// Looks at the file of these records. Blocks.
    fn look(&self, stored: &str, records: &[&Record]) -> Now {
        let path = self.workspace.path_of_stored(stored);
        let shown = self.workspace.shown(&path);
        let place = self.workspace.writable_at(&path).map_err(|error| error.to_string());
        let content = match &place {
            Ok(Some(place)) => match &place.existing {
                // A file that no record can be about need not be read to see that.
                Some(opened) if !is_known(opened.length, records) => Ok(Content::Unread(opened.length)),
                _ => place.content().map_err(|error| format!("it cannot be read: {error}")),
            },
            Ok(None) => Ok(Content::Absent),
            Err(why) => Err(why.clone()),
        };
        match content {
            Ok(content) => Now { path, shown, place, content },
            Err(why) => Now { path, shown, place: Err(why), content: Content::Absent },
        }
    }

    /// Looks at all files of the records, one after the other. Blocks.
    fn survey<'r>(&self, records: &'r [Record]) -> Vec<Surveyed<'r>> {
        let survey = |(stored, records): (&str, Vec<&'r Record>)| {
            let now = self.look(stored, &records);
            let steps = walk(&records, now.state().as_ref());
            Surveyed { steps, shown: now.shown, records }
        };
        by_file(records).into_iter().map(survey).collect()
    }

    fn list(&self, records: &[Record]) -> FileChanges {
        let surveyed = self.survey(records);
        let mut states: BTreeMap<&str, (ChangeState, &str)> = BTreeMap::new();
        for file in &surveyed {
            let of_file = file.records.iter().zip(&file.steps);
            states.extend(of_file.map(|(record, step)| (record.name.id(), (state(*step), &*file.shown))));
        }
        let change = |record: &Record| {
            let (state, path) = *states.get(record.name.id())?;
            (record.head.act == Act::Change).then(|| FileChange {
                path: path.to_owned(),
                turn: record.head.turn.clone(),
                tool: record.head.tool.clone(),
                at: record.head.at,
                kind: kind(&record.head),
                state,
            })
        };
        let act = last_act(&surveyed);
        let redoable = surveyed.iter().filter(|file| {
            act.is_some_and(|act| file.of_act(act).is_some_and(|record| file.why_not_again(record).is_none()))
        });
        FileChanges {
            changes: records.iter().filter_map(change).collect(),
            redoable: redoable.map(|file| file.shown.clone()).collect(),
        }
    }

    fn news(&self, records: &[Record], after: &TurnId, beyond: Option<&TurnId>) -> Vec<IsPutBack> {
        let turns: BTreeMap<&str, &TurnId> =
            records.iter().map(|record| (record.name.id(), &record.head.turn)).collect();
        let mut news = Vec::new();
        for (stored, own) in by_file(records) {
            // Only files of which there may be news are read.
            let is_new = |record: &Record| record.head.act != Act::Change && record.head.turn > *after;
            if !own.iter().any(|record| is_new(record)) {
                continue;
            }
            let now = self.look(stored, &own);
            let steps = walk(&own, now.state().as_ref());
            let valid = own.iter().zip(steps).rev().find(|(_, step)| step.is_there());
            let Some((record, Step::PutBack)) = valid else { continue };
            let Act::PutBack { of } = &record.head.act else { continue };
            let is_known = |id: &String| {
                turns.get(id.as_str()).is_some_and(|turn| beyond.is_none_or(|beyond| *turn < beyond))
            };
            if is_new(record) && of.iter().any(is_known) {
                news.push(IsPutBack { path: now.shown, is_removed: record.head.after == FileState::Absent });
            }
        }
        news
    }

    /// Takes back the changes since the beginning of a turn. `others`: the records of other sessions. Blocks.
    fn take_back(&self, records: &[Record], from: &TurnId, others: &[Record]) -> Done {
        let (act, mut done) = (TurnId::existing(&unique()), Done::default());
        for (stored, own) in by_file(records) {
            let is_since = |record: &&Record| record.head.turn >= *from;
            if !own.iter().any(|record| is_since(record) && record.head.act == Act::Change) {
                continue;
            }
            let now = self.look(stored, &own);
            let (outcome, why) = if is_made_by(others, stored, &now, &own) {
                (PutBackOutcome::ChangedSince, None)
            } else {
                self.put_back_file(&now, &own, from, &act, &mut done)
            };
            done.files.push(FilePutBack { path: now.shown, outcome, why });
        }
        done
    }

    fn put_back_file(
        &self,
        now: &Now,
        records: &[&Record],
        from: &TurnId,
        act: &TurnId,
        done: &mut Done,
    ) -> (PutBackOutcome, Option<String>) {
        if let Err(why) = &now.place {
            return (PutBackOutcome::Failed, Some(why.clone()));
        }
        let target = self.target(now, records, from);
        let nothing = match target.stop {
            None => PutBackOutcome::Already,
            Some(Stop::ChangedSince) => PutBackOutcome::ChangedSince,
            Some(Stop::NotKept) => PutBackOutcome::NotKept,
        };
        if target.of.is_empty() {
            return (nothing, None);
        }
        let outcome = match (&target.content, target.stop) {
            (_, Some(_)) => PutBackOutcome::Partly,
            (Content::Absent, None) => PutBackOutcome::Removed,
            _ => PutBackOutcome::Restored,
        };
        let why = target.stop.map(|stop| stop.sentence().to_owned());
        match self.write(now, target, records, act) {
            Ok(record) => {
                done.written.push(record);
                (outcome, why)
            }
            Err(error) => (PutBackOutcome::Failed, Some(error.to_string())),
        }
    }

    /// Follows the records of a file back to the beginning of a turn.
    fn target(&self, now: &Now, records: &[&Record], from: &TurnId) -> Target {
        let steps = walk(records, now.state().as_ref());
        let mut target = Target { content: now.content.clone(), of: Vec::new(), mode: None, stop: None };
        let mut passed = Vec::new();
        for (record, step) in records.iter().zip(steps).rev() {
            if record.head.turn < *from {
                break;
            }
            passed.push(record.name.id().to_owned());
            match step {
                Step::Past | Step::PutBack | Step::Void => {}
                Step::Broken => {
                    target.stop = Some(Stop::ChangedSince);
                    break;
                }
                Step::Undo => {
                    let Some(content) = self.earlier(record, &target.content) else {
                        target.stop = Some(Stop::NotKept);
                        break;
                    };
                    target.content = content;
                    target.mode = record.head.mode.or(target.mode);
                    target.of.append(&mut passed);
                }
            }
        }
        target
    }

    /// Returns what a file was before a change; `None` if that is not kept. `later`: what the change made of it.
    fn earlier(&self, record: &Record, later: &Content) -> Option<Content> {
        let before = match (&record.head.earlier, &record.head.before) {
            (Earlier::Nothing, _) => Content::Absent,
            (Earlier::Beginning, FileState::Present { bytes, .. }) => {
                let Content::Whole(later) = later else { return None };
                Content::Whole(later.get(..usize::try_from(*bytes).ok()?)?.to_vec())
            }
            (Earlier::Whole, _) => Content::Whole(self.journal.kept(record).ok()??),
            (Earlier::End, _) => {
                let Content::Whole(later) = later else { return None };
                Content::Whole([&later[..], &self.journal.kept(record).ok()??].concat())
            }
            _ => return None,
        };
        // A record that is damaged must not end up in the file.
        (before.state() == record.head.before).then_some(before)
    }

    /// Records that a file is put back, and does it. What could not be undone is not done.
    fn write(&self, now: &Now, target: Target, records: &[&Record], act: &TurnId) -> io::Result<RecordName> {
        let first = records.first().ok_or_else(|| io::Error::other("nothing is known of it"))?;
        let place = now.place.as_ref().ok().and_then(Option::as_ref);
        let mode = place.map(Writable::present_mode).transpose()?.flatten();
        let head = Head {
            turn: act.clone(),
            call: String::new(),
            tool: String::new(),
            at: self.journal.now(),
            before: now.content.state(),
            after: target.content.state(),
            mode,
            act: Act::PutBack { of: target.of },
            ..first.head.clone()
        };
        let later = match &target.content {
            Content::Whole(content) => Some(content.as_slice()),
            _ => None,
        };
        let written = self.journal.write(head, &now.content, later, Trust::Owner)?;
        let Written { record, is_kept } = written.ok_or_else(|| io::Error::other(TOO_MANY))?;
        let made = match is_kept {
            true => self.make(now, &target.content, target.mode),
            false => Err(io::Error::other(TOO_LARGE)),
        };
        made.inspect_err(|_| {
            // It says of a file that it was put back that was not, so it does no harm if it stays.
            let _ = self.journal.remove(std::slice::from_ref(&record));
        })?;
        Ok(record)
    }

    /// Gives a file this content, or removes it.
    fn make(&self, now: &Now, content: &Content, mode: Option<u32>) -> io::Result<()> {
        let refused = |error: aethon_core::tool::ToolError| io::Error::other(error.to_string());
        match (&now.place, content) {
            (Ok(Some(place)), Content::Absent) => place.remove(),
            (Ok(Some(place)), Content::Whole(content)) if place.existing.is_some() => place.replace(content),
            (Ok(_), Content::Whole(content)) => {
                let place = self.workspace.writable_made_at(&now.path).map_err(refused)?;
                place.with_mode(mode).replace(content)
            }
            (Ok(None), Content::Absent) => Ok(()),
            (Err(why), _) => Err(io::Error::other(why.clone())),
            (_, Content::Unread(_)) => Err(io::Error::other("its earlier content is too large")),
        }
    }

    /// Undoes the last act that put files back. Blocks.
    fn make_again(&self, records: &[Record]) -> Done {
        let (surveyed, mut done) = (self.survey(records), Done::default());
        let Some(act) = last_act(&surveyed).cloned() else { return done };
        for file in surveyed {
            let Some(record) = file.of_act(&act) else { continue };
            let (outcome, why) = match file.why_not_again(record) {
                Some(outcome) => (outcome, None),
                None => self.make_one_again(record, &file.records),
            };
            if outcome != PutBackOutcome::Failed {
                // One that stays says of a file that is not so any more that it was put back, and counts for nothing.
                if self.journal.remove(std::slice::from_ref(&record.name)).is_ok() {
                    done.removed.push(record.name.clone());
                }
            }
            done.files.push(FilePutBack { path: file.shown, outcome, why });
        }
        done
    }

    fn make_one_again(&self, record: &Record, records: &[&Record]) -> (PutBackOutcome, Option<String>) {
        // Looked at anew, because the content of many files is not held at once.
        let now = self.look(&record.head.path, records);
        if now.state().as_ref() != Some(&record.head.after) {
            return (PutBackOutcome::ChangedSince, None);
        }
        let Some(content) = self.earlier(record, &now.content) else {
            return (PutBackOutcome::NotKept, None);
        };
        match self.make(&now, &content, record.head.mode) {
            Err(error) => (PutBackOutcome::Failed, Some(error.to_string())),
            Ok(()) if content == Content::Absent => (PutBackOutcome::Removed, None),
            Ok(()) => (PutBackOutcome::Restored, None),
        }
    }
}

impl Now {
    /// What it is recognised by; `None` if it could not be read.
    fn state(&self) -> Option<FileState> {
        (self.place.is_ok() && !matches!(self.content, Content::Unread(_))).then(|| self.content.state())
    }
}

impl Stop {
    fn sentence(self) -> &'static str {
        match self {
            Self::ChangedSince => "it was changed in between by somebody else; what was before that stays",
            Self::NotKept => "what it was before is not kept",
        }
    }
}

/// The records of each file, oldest first, in the order in which the files were changed first.
fn by_file(records: &[Record]) -> Vec<(&str, Vec<&Record>)> {
    let mut files: Vec<(&str, Vec<&Record>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records {
        let path = record.head.path.as_str();
        let place = *places.entry(path).or_insert(files.len());
        match files.get_mut(place) {
            Some((_, own)) => own.push(record),
            None => files.push((path, vec![record])),
        }
    }
    files
}

/// Whether a record says that its file had this length.
fn is_known(length: u64, records: &[&Record]) -> bool {
    let is_it = |state: &FileState| matches!(state, FileState::Present { bytes, .. } if *bytes == length);
    records.iter().any(|record| is_it(&record.head.before) || is_it(&record.head.after))
}

/// Whether another session has made a file what it is, later than any of these records.
fn is_made_by(others: &[Record], stored: &str, now: &Now, own: &[&Record]) -> bool {
    let Some(state) = now.state() else { return false };
    let newest = own.iter().map(|record| record.name.id()).max();
    others.iter().any(|other| {
        let Head { path, act, after, .. } = &other.head;
        path == stored && *act == Act::Change && *after == state && Some(other.name.id()) > newest
    })
}

fn kind(head: &Head) -> ChangeKind {
    if head.before == FileState::Absent { ChangeKind::Created } else { ChangeKind::Changed }
}

fn state(step: Step) -> ChangeState {
    match step {
        Step::Undo => ChangeState::AsLeft,
        Step::Past | Step::PutBack | Step::Void => ChangeState::PutBack,
        Step::Broken => ChangeState::ChangedSince,
    }
}

fn failed(error: &io::Error) -> Error {
    Error::unavailable(format!("the changes of files cannot be read: {error}"))
}

#[async_trait]
impl FileHistory for ChangedFiles {
    async fn changes(&self, session: &SessionId, since: Timestamp) -> Result<FileChanges> {
        self.journal.fetch(session).await;
        let (own, session) = (self.clone(), session.clone());
        let listed = blocking(move || Ok(own.list(&own.records(&session, since)?)));
        listed.await.map_err(|error| failed(&error))
    }

    async fn put_back(
        &self,
        session: &SessionId,
        since: Timestamp,
        from: &TurnId,
    ) -> Result<Vec<FilePutBack>> {
        let (from, session_id) = (from.clone(), session.clone());
        self.act(session, since, "put_back", move |own, records| {
            let others = own.journal.records_of_others(&session_id)?;
            Ok(own.take_back(records, &from, &others))
        })
        .await
    }

    async fn redo(&self, session: &SessionId, since: Timestamp) -> Result<Vec<FilePutBack>> {
        self.act(session, since, "made_again", |own, records| Ok(own.make_again(records))).await
    }

    async fn hand_over(&self, from: &SessionId, to: &SessionId, until: Option<Timestamp>) -> Result<()> {
        self.journal.fetch(from).await;
        let (journal, from, to) = (self.journal.clone(), from.clone(), to.clone());
        let moved = blocking(move || journal.hand_over(&from, &to, until)).await;
        let (written, gone) = moved.map_err(|error| failed(&error))?;
        self.journal.share(&written, &gone).await;
        Ok(())
    }

    async fn forget(&self, session: &SessionId) -> Result<()> {
        self.journal.fetch(session).await;
        let (journal, session) = (self.journal.clone(), session.clone());
        let removed = blocking(move || {
            let names = journal.names_of(&session)?;
            journal.remove(&names).map(|()| names)
        });
        let removed = removed.await.map_err(|error| failed(&error))?;
        self.journal.share(&[], &removed).await;
        Ok(())
    }

    async fn sessions(&self) -> Result<Vec<SessionId>> {
        let journal = self.journal.clone();
        blocking(move || journal.sessions()).await.map_err(|error| failed(&error))
    }

    async fn sweep(&self) -> Result<()> {
        let journal = self.journal.clone();
        blocking(move || journal.make_room().map(drop)).await.map_err(|error| failed(&error))
    }
}

mod surveyed;
#[cfg(test)]
mod tests;
