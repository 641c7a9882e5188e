//! The folder of kept outputs: one file each, readable only by the owner, found by a handle that is valid only in its
//! session.
//!
//! The folder is bounded in bytes, files and age; each new file evicts what exceeds the limits. Outputs of turns that
//! the owner's words did not begin are marked in their names: they go before the owner's, and a quarter of the folder
//! is kept for each side. A file name consists of a random number and a digest of the session, so a handle that leaks
//! into another session opens nothing there.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aethon_core::clock::Clock;
use aethon_core::error::{Error, Result};
use aethon_core::file_copies::FileCopies;
use aethon_core::ids::SessionId;
use aethon_core::share::Share;
use aethon_core::tool::OutputStore;
use aethon_core::turn::Trust;
use aethon_files::Directory;
use async_trait::async_trait;
use jiff::Timestamp;
use rustix::fs::OFlags;

/// Prefix of a handle.
const PREFIX: &str = "output:";
/// Maximum bytes kept of one output; no tool returns more.
const MAX_LEN: usize = 16 << 20;
/// Maximum size of all outputs together.
const MAX_BYTES: u64 = 256 << 20;
/// Maximum number of outputs.
const MAX_FILES: u64 = 1000;
/// Maximum age.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3600);
/// Endings of the names, by whose output it is.
const OWNERS: &str = ".txt";
const STRANGERS: &str = ".stranger.txt";
/// Number of random hex digits in a handle.
const LETTERS: usize = 12;

/// The kept outputs of one home.
#[derive(Clone)]
pub struct KeptOutputs {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    /// Where other instances find them, too.
    copies: Option<Arc<dyn FileCopies>>,
}

impl KeptOutputs {
    /// Opens this folder, which is created when needed.
    pub fn new(folder: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self { folder: folder.into(), clock, copies: None }
    }

    /// The same, with a copy of each output for other instances, and theirs for this one.
    #[must_use]
    pub fn with_copies(self, copies: Option<Arc<dyn FileCopies>>) -> Self {
        Self { copies, ..self }
    }

    /// Has the output behind a handle of this session in the folder, if another instance has kept it.
    pub(crate) async fn fetch(&self, session: &SessionId, handle: &str) {
        let Some(copies) = self.copies.clone() else { return };
        let Some(letters) = letters(handle) else { return };
        for ending in [OWNERS, STRANGERS] {
            let path = self.path_of(session, letters, ending);
            let Some(name) = path.file_name().and_then(OsStr::to_str).map(str::to_owned) else { return };
            if fs::symlink_metadata(&path).is_ok() {
                return;
            }
            let fetched = match copies.get(&name).await {
                Ok(Some(content)) => content,
                Ok(None) => continue,
                Err(error) => {
                    return tracing::warn!(%error, "output that another instance kept cannot be fetched");
                }
            };
            let kept = self.clone();
            let written = tokio::task::spawn_blocking(move || kept.take_in(&name, &fetched)).await;
            if let Ok(Err(error)) = written {
                tracing::warn!(%error, "output that another instance kept cannot be written");
            }
            return;
        }
    }

    /// Returns whether a path is a handle.
    pub(crate) fn is_handle(path: &str) -> bool {
        path.starts_with(PREFIX)
    }

    /// Opens the output behind a handle of this session. Blocks.
    pub(crate) fn open(&self, session: &SessionId, handle: &str) -> io::Result<File> {
        let letters = letters(handle).ok_or(io::ErrorKind::NotFound)?;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let open = |ending| {
            OpenOptions::new().read(true).custom_flags(flags).open(self.path_of(session, letters, ending))
        };
        open(OWNERS).or_else(|_| open(STRANGERS))
    }

    /// Removes expired outputs. Blocks.
    pub fn sweep(&self) {
        sweep(&self.folder, self.now());
    }

    fn path_of(&self, session: &SessionId, letters: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{letters}-{}{ending}", digest(session)))
    }

    fn now(&self) -> SystemTime {
        SystemTime::from(self.clock.now())
    }

    /// Writes an output; returns its handle and its path.
    fn store(&self, session: &SessionId, trust: Trust, text: &str) -> io::Result<(String, PathBuf)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        // The end of a version 7 UUID is random; its start is the time.
        let letters = uuid::Uuid::now_v7().simple().to_string().split_off(32 - LETTERS);
        let path = self.path_of(session, &letters, if trust.is_owner() { OWNERS } else { STRANGERS });
        // A reader learns the handle only after this has returned, so no reader sees half a file under its name.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        for piece in pieces(text) {
            file.write_all(piece.as_bytes())?;
        }
        sweep(&self.folder, self.now());
        Ok((format!("{PREFIX}{letters}"), path))
    }

    /// Writes an output that another instance has kept. It is found by its name at once, so it appears as a whole.
    fn take_in(&self, name: &str, content: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        Directory::open(&self.folder)?.write(name, content)?;
        sweep(&self.folder, self.now());
        Ok(())
    }

    /// Stores the copy for other instances. Without it, the output is there for this one.
    async fn copy(&self, path: PathBuf) {
        let Some(copies) = &self.copies else { return };
        let Some(name) = path.file_name().and_then(OsStr::to_str).map(str::to_owned) else { return };
        let read = tokio::task::spawn_blocking(move || fs::read(path)).await;
        let Ok(Ok(content)) = read else { return };
        let until = Timestamp::try_from(self.now() + KEEP).ok();
        if let Err(error) = copies.put(&name, content, until).await {
            tracing::warn!(%error, "kept output cannot be copied for other instances");
        }
    }
}

/// Returns the random part of a handle.
fn letters(handle: &str) -> Option<&str> {
    let letters = handle.strip_prefix(PREFIX)?;
    (letters.len() == LETTERS && letters.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(letters)
}

#[async_trait]
impl OutputStore for KeptOutputs {
    async fn keep(&self, session: &SessionId, trust: Trust, text: &str) -> Result<String> {
        let (kept, session, text) = (self.clone(), session.clone(), text.to_owned());
        let stored = tokio::task::spawn_blocking(move || kept.store(&session, trust, &text)).await;
        let (handle, path) = stored
            .unwrap_or_else(|_| Err(io::Error::other("the program is stopping")))
            .map_err(|error| Error::unavailable(format!("tool output cannot be kept: {error}")))?;
        self.copy(path).await;
        Ok(handle)
    }
}

/// Returns the text, or its head and tail if it is too long to keep.
fn pieces(text: &str) -> Vec<String> {
    if text.len() <= MAX_LEN {
        return vec![text.to_owned()];
    }
    let head = &text[..text.floor_char_boundary(MAX_LEN * 2 / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - MAX_LEN / 3)..];
    let gone = text.len() - head.len() - tail.len();
    vec![head.to_owned(), format!("\n[... {gone} bytes were not kept ...]\n"), tail.to_owned()]
}

/// Distinguishes sessions in file names (FNV-1a). It protects no secret: the folder belongs to the owner alone.
fn digest(session: &SessionId) -> String {
    let step = |digest: u64, byte: u8| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", session.as_str().bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Outputs of one side, the newest first.
#[derive(Default)]
struct Side(Vec<(SystemTime, u64, PathBuf)>);

impl Side {
    fn used(&self) -> Room {
        Room { bytes: self.0.iter().map(|(_, length, _)| length).sum(), files: self.0.len() as u64 }
    }

    /// Returns those that are too old, or for which there is no room, and the room that the others take.
    fn surplus(self, room: Room, now: SystemTime) -> (Vec<PathBuf>, Room) {
        let (mut taken, mut surplus) = (Room::default(), Vec::new());
        let mut files = self.0;
        files.sort_by_key(|(modified, ..)| Reverse(*modified));
        for (modified, length, path) in files {
            let more = Room { bytes: taken.bytes + length, files: taken.files + 1 };
            let is_old = now.duration_since(modified).is_ok_and(|age| age > KEEP);
            if is_old || more.bytes > room.bytes || more.files > room.files {
                surplus.push(path);
            } else {
                taken = more;
            }
        }
        (surplus, taken)
    }
}

/// What outputs take, or may take.
#[derive(Debug, Clone, Copy, Default)]
struct Room {
    bytes: u64,
    files: u64,
}

impl Room {
    /// What strangers' outputs may take beside those of the owner: what these leave, but neither the quarter that is kept
    /// for the owner, nor less than a quarter, because the handle of a new output has to open something.
    fn of_strangers(owners: Self) -> Self {
        let room =
            |all: u64, owners: u64| all.saturating_sub(owners).clamp(all / 4, Share::of(all).of_strangers());
        Self { bytes: room(MAX_BYTES, owners.bytes), files: room(MAX_FILES, owners.files) }
    }

    /// The room for the owner's outputs beside those of strangers.
    fn of_owner(strangers: Self) -> Self {
        let left = |all: u64, taken: u64| all.saturating_sub(taken);
        Self { bytes: left(MAX_BYTES, strangers.bytes), files: left(MAX_FILES, strangers.files) }
    }
}

/// Removes the oldest files until the folder is within its limits. What cannot be removed now is retried later.
fn sweep(folder: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let (mut owners, mut strangers) = (Side::default(), Side::default());
    for entry in entries.flatten() {
        let Some(metadata) = entry.metadata().ok().filter(fs::Metadata::is_file) else { continue };
        let Ok(modified) = metadata.modified() else { continue };
        let is_strangers = entry.file_name().to_string_lossy().ends_with(STRANGERS);
        let side = if is_strangers { &mut strangers } else { &mut owners };
        side.0.push((modified, metadata.len(), entry.path()));
    }
    let (mut surplus, taken) = strangers.surplus(Room::of_strangers(owners.used()), now);
    surplus.extend(owners.surplus(Room::of_owner(taken), now).0);
    for path in surplus {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(%error, path = %path.display(), "kept tool output could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    use aethon_core::testkit::ManualClock;
    use jiff::SignedDuration;

    use super::*;

    fn session(name: &str) -> SessionId {
        SessionId::of("webchat", name).unwrap()
    }

    fn text_of(kept: &KeptOutputs, session: &SessionId, handle: &str) -> io::Result<String> {
        let mut text = String::new();
        kept.open(session, handle)?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[tokio::test]
    async fn an_output_is_private_and_found_by_its_handle_in_its_session_only() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let kept = KeptOutputs::new(folder.path().join("outputs"), clock);
        let handle = kept.keep(&session("a"), Trust::Owner, "all of it").await.unwrap();
        assert_eq!(text_of(&kept, &session("a"), &handle).unwrap(), "all of it");
        assert!(text_of(&kept, &session("b"), &handle).is_err());
        for wrong in ["output:", "output:../../etc/passwd", "output:000000000000", "output:ABCDEFABCDE/"] {
            assert!(text_of(&kept, &session("a"), wrong).is_err(), "{wrong}");
        }
        let file = fs::read_dir(folder.path().join("outputs")).unwrap().next().unwrap().unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let outer = fs::metadata(folder.path().join("outputs")).unwrap();
        assert_eq!(outer.permissions().mode() & 0o777, 0o700);
    }

    #[tokio::test]
    async fn old_and_surplus_outputs_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        // File times come from the machine, so the test clock starts from them.
        let clock = Arc::new(ManualClock::at(modified(folder.path())));
        let kept = KeptOutputs::new(folder.path(), clock.clone());
        let first = kept.keep(&session("a"), Trust::Owner, "first").await.unwrap();
        clock.advance(SignedDuration::from_hours(24));
        kept.keep(&session("a"), Trust::Owner, "second").await.unwrap();
        assert!(kept.open(&session("a"), &first).is_ok());
        clock.advance(SignedDuration::from_hours(7 * 24));
        kept.sweep();
        assert!(kept.open(&session("a"), &first).is_err());
        for number in 0..MAX_FILES + 20 {
            fs::write(folder.path().join(format!("{number}.txt")), "x").unwrap();
        }
        kept.sweep();
        assert!(fs::read_dir(folder.path()).unwrap().count() as u64 <= MAX_FILES);
    }

    #[tokio::test]
    async fn outputs_of_strangers_take_what_the_owner_leaves_and_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(modified(folder.path())));
        let kept = KeptOutputs::new(folder.path(), clock);
        let own = kept.keep(&session("a"), Trust::Owner, "mine").await.unwrap();
        let count = |ending: &str| {
            let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().ends_with(STRANGERS) == (ending == STRANGERS)).count()
                as u64
        };
        let fill = |ending: &str, count: u64| {
            (0..count).for_each(|number| {
                fs::write(folder.path().join(format!("{number}-x{ending}")), "x").unwrap()
            });
        };
        fill(STRANGERS, MAX_FILES + 20);
        let theirs = kept.keep(&session("b"), Trust::Outside, "theirs").await.unwrap();
        assert_eq!(count(STRANGERS), MAX_FILES * 3 / 4);
        assert_eq!(
            text_of(&kept, &session("a"), &own).unwrap(),
            "mine",
            "the owner's, although it is the oldest"
        );
        assert!(text_of(&kept, &session("a"), &theirs).is_err(), "found in its own session only");
        fill(OWNERS, MAX_FILES);
        kept.sweep();
        assert_eq!((count(OWNERS), count(STRANGERS)), (MAX_FILES * 3 / 4, MAX_FILES / 4), "theirs go first");
    }

    #[test]
    fn a_very_long_output_keeps_its_head_and_its_tail() {
        let text = "ä".repeat(MAX_LEN);
        let kept = pieces(&text).concat();
        assert!(kept.len() < MAX_LEN + 100 && kept.contains("were not kept"));
        assert_eq!(pieces("short"), ["short"]);
    }

    fn modified(path: &Path) -> Timestamp {
        Timestamp::try_from(fs::metadata(path).unwrap().modified().unwrap()).unwrap()
    }
}
