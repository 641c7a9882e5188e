//! Takes changes of files back: for the owner, by the same rules and in the same steps by which tools write.
//!
//! A file is written only once, with the content that taking back its changes leads to, and only while it is what the last of them
//! made of it. That it is put back is recorded before it is, so that this can be taken back, too.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::error::{Error, Result};
use aethon_core::file_changes::{
    ChangeKind, ChangeState, FileChange, FileChanges, FileHistory, FilePutBack, PutBackOutcome,
};
use aethon_core::ids::{SessionId, TurnId, unique};
use aethon_core::turn::Trust;
use async_trait::async_trait;

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
        Self { workspace: Arc::new(Workspace::new(options)), journal, acting: Arc::default() }
    }

    /// Runs an act on the records of a session, one at a time.
    async fn act<T: Send + 'static>(
        &self,
        session: &SessionId,
        act: impl FnOnce(&Self, &[Record]) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.journal.fetch(session).await;
        let (own, session) = (self.clone(), session.clone());
        let done = blocking(move || {
            let _acting = own.acting.lock().unwrap_or_else(PoisonError::into_inner);
            act(&own, &own.journal.records(&session)?)
        });
        done.await.map_err(|error| failed(&error))
    }

    /// Returns the files that were put back after a turn and are so still. With `beyond`, only changes from before that turn
    /// count.
    pub(super) async fn put_back_since(
        &self,
        session: &SessionId,
        after: &TurnId,
        beyond: Option<&TurnId>,
    ) -> Result<Vec<IsPutBack>> {
        let (after, beyond) = (after.clone(), beyond.cloned());
        self.act(session, move |own, records| Ok(own.news(records, &after, beyond.as_ref()))).await
    }

    /// Returns whether there are records of a session. Cheap: no record is opened.
    pub(super) async fn has_records(&self, session: &SessionId) -> Result<bool> {
        self.journal.fetch(session).await;
        let (journal, session) = (self.journal.clone(), session.clone());
        let names = blocking(move || journal.names_of(&session)).await;
        Ok(!names.map_err(|error| failed(&error))?.is_empty())
    }

    async fn finish(&self, done: Done) -> Vec<FilePutBack> {
        self.journal.share(&done.written, &done.removed).await;
        done.files
    }

    /// Looks at a file. Blocks.
    fn look(&self, stored: &str) -> Now {
        let path = self.workspace.path_of_stored(stored);
        let shown = self.workspace.shown(&path);
        let place = self.workspace.writable_at(&path).map_err(|error| error.to_string());
        let content = match &place {
            Ok(Some(place)) => place.content().map_err(|error| format!("it cannot be read: {error}")),
            Ok(None) => Ok(Content::Absent),
            Err(why) => Err(why.clone()),
        };
        match content {
            Ok(content) => Now { path, shown, place, content },
            Err(why) => Now { path, shown, place: Err(why), content: Content::Absent },
        }
    }

    fn list(&self, records: &[Record]) -> FileChanges {
        let mut states: BTreeMap<&str, ChangeState> = BTreeMap::new();
        let mut shown: BTreeMap<&str, String> = BTreeMap::new();
        for (stored, own) in by_file(records) {
            let now = self.look(stored);
            let steps = walk(&own, now.state().as_ref());
            states.extend(own.iter().zip(steps).map(|(record, step)| (record.name.id(), state(step))));
            shown.insert(stored, now.shown);
        }
        let change = |record: &Record| {
            (record.head.act == Act::Change).then(|| FileChange {
                path: shown.get(&*record.head.path).cloned().unwrap_or_default(),
                turn: record.head.turn.clone(),
                tool: record.head.tool.clone(),
                at: record.head.at,
                kind: kind(&record.head),
                state: states.get(record.name.id()).copied().unwrap_or(ChangeState::ChangedSince),
            })
        };
        let redoable = self.last_put_back(records).into_iter();
        FileChanges {
            changes: records.iter().filter_map(change).collect(),
            redoable: redoable.filter_map(|record| shown.get(&*record.head.path).cloned()).collect(),
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
            let now = self.look(stored);
            let steps = walk(&own, now.state().as_ref());
            let valid =
                own.iter().zip(steps).rev().find(|(_, step)| !matches!(step, Step::Void | Step::Past));
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

    /// Takes back the changes since the beginning of a turn. Blocks.
    fn take_back(&self, records: &[Record], from: &TurnId) -> Done {
        let (act, mut done) = (TurnId::existing(&unique()), Done::default());
        for (stored, own) in by_file(records) {
            let is_since = |record: &&Record| record.head.turn >= *from;
            if !own.iter().any(|record| is_since(record) && record.head.act == Act::Change) {
                continue;
            }
            let now = self.look(stored);
            let (outcome, why) = self.put_back_file(&now, &own, from, &act, &mut done);
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
            Ok(written) => {
                if let Some(written) = written {
                    done.written.push(written.record);
                    done.removed.extend(written.gone);
                }
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
            (Earlier::Whole, _) => Content::Whole(self.journal.content(record).ok()??),
            _ => return None,
        };
        // A record that is damaged must not end up in the file.
        (before.state() == record.head.before).then_some(before)
    }

    /// Records that a file is put back, and does it.
    fn write(
        &self,
        now: &Now,
        target: Target,
        records: &[&Record],
        act: &TurnId,
    ) -> io::Result<Option<Written>> {
        let Some(first) = records.first() else { return Ok(None) };
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
        self.make(now, &target.content, target.mode)?;
        Ok(written)
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
            (_, Content::TooLarge(_)) => Err(io::Error::other("its earlier content is too large")),
        }
    }

    /// The records of the last act that put files back, as far as the files are still as it left them.
    fn last_put_back<'r>(&self, records: &'r [Record]) -> Vec<&'r Record> {
        let mut valid: Vec<&Record> = Vec::new();
        for (stored, own) in by_file(records) {
            let steps = walk(&own, self.look(stored).state().as_ref());
            // Whatever came after it must be taken back first.
            let last = own.iter().zip(steps).rev().find(|(_, step)| !matches!(step, Step::Void | Step::Past));
            valid.extend(last.filter(|(_, step)| *step == Step::PutBack).map(|(record, _)| *record));
        }
        let newest = valid.iter().map(|record| &record.head.turn).max().cloned();
        valid.retain(|record| Some(&record.head.turn) == newest.as_ref());
        valid
    }

    /// Undoes the last act that put files back. Blocks.
    fn make_again(&self, records: &[Record]) -> Done {
        let mut done = Done::default();
        for record in self.last_put_back(records) {
            let now = self.look(&record.head.path);
            let (outcome, why) = match self.earlier(record, &now.content) {
                None => (PutBackOutcome::NotKept, None),
                Some(content) => match self.make(&now, &content, record.head.mode) {
                    Err(error) => (PutBackOutcome::Failed, Some(error.to_string())),
                    Ok(()) if content == Content::Absent => (PutBackOutcome::Removed, None),
                    Ok(()) => (PutBackOutcome::Restored, None),
                },
            };
            if matches!(outcome, PutBackOutcome::Removed | PutBackOutcome::Restored) {
                // One that stays says of a file that is not so any more that it was put back, and counts for nothing.
                if self.journal.remove(std::slice::from_ref(&record.name)).is_ok() {
                    done.removed.push(record.name.clone());
                }
            }
            done.files.push(FilePutBack { path: now.shown, outcome, why });
        }
        done
    }
}

impl Now {
    /// What it is recognised by; `None` if it could not be read.
    fn state(&self) -> Option<FileState> {
        (self.place.is_ok() && !matches!(self.content, Content::TooLarge(_))).then(|| self.content.state())
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
    async fn changes(&self, session: &SessionId) -> Result<FileChanges> {
        self.act(session, |own, records| Ok(own.list(records))).await
    }

    async fn put_back(&self, session: &SessionId, from: &TurnId) -> Result<Vec<FilePutBack>> {
        let from = from.clone();
        let done = self.act(session, move |own, records| Ok(own.take_back(records, &from))).await?;
        Ok(self.finish(done).await)
    }

    async fn redo(&self, session: &SessionId) -> Result<Vec<FilePutBack>> {
        let done = self.act(session, |own, records| Ok(own.make_again(records))).await?;
        Ok(self.finish(done).await)
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
        blocking(move || journal.sweep()).await.map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests;
