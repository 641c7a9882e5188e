//! The log file: one per day, at most `logging.keep_files`, the oldest removed first.
//!
//! Actions of strangers are logged as well, so a file has a maximum size. One that reaches it becomes the day's earlier file, in
//! place of the one before, and a new one begins: the newest records are always there.
//!
//! It is opened at the first record, so that startup pays nothing, and with mode 0600, because logs reveal what the owner
//! does. Records logged before a new home has its folder are held back until it exists. If the file cannot be written, that is
//! reported once on stderr and the program continues.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use aethon_config::private_file;
use aethon_core::log::LogRecord;

/// How many lines are held back until a new home has its folder.
const MAX_WAITING: usize = 200;
/// The largest size of a file. A day has at most two.
const MAX_BYTES: u64 = 64 << 20;

pub(super) struct LogFile {
    folder: PathBuf,
    keep: usize,
    open: Option<(String, File)>,
    /// How large the open file is, and how large it may become.
    bytes: u64,
    max_bytes: u64,
    waiting: Vec<String>,
    broken: bool,
}

impl LogFile {
    pub(super) fn new(folder: PathBuf, keep: usize) -> Self {
        Self {
            folder,
            keep: keep.max(1),
            open: None,
            bytes: 0,
            max_bytes: MAX_BYTES,
            waiting: Vec::new(),
            broken: false,
        }
    }

    pub(super) fn write(&mut self, record: &LogRecord, line: &str) {
        let day = record.ts.strftime("%Y-%m-%d").to_string();
        if self.bytes >= self.max_bytes && self.open.as_ref().is_some_and(|(open_day, _)| *open_day == day) {
            self.put_aside(&day);
        }
        if self.open.as_ref().is_none_or(|(open_day, _)| *open_day != day) {
            self.open = self.start(day);
        }
        let Some((_, file)) = &mut self.open else {
            if self.waiting.len() < MAX_WAITING {
                self.waiting.push(line.to_owned());
            }
            return;
        };
        let early = std::mem::take(&mut self.waiting).concat();
        self.bytes += (early.len() + line.len()) as u64;
        if let Err(error) = file.write_all(early.as_bytes()).and_then(|()| file.write_all(line.as_bytes())) {
            self.report(&error);
        }
    }

    fn start(&mut self, day: String) -> Option<(String, File)> {
        let path = self.folder.join(format!("aethon-{day}.log"));
        match private_file::open(&path, OpenOptions::new().append(true)) {
            Ok(file) => {
                self.bytes = file.metadata().map_or(0, |metadata| metadata.len());
                self.remove_old();
                Some((day, file))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                self.report(&error);
                None
            }
        }
    }

    /// Makes the open file the day's earlier one.
    fn put_aside(&mut self, day: &str) {
        self.open = None;
        let path = |name: String| self.folder.join(name);
        let (from, to) = (path(format!("aethon-{day}.log")), path(format!("aethon-{day}.0.log")));
        if let Err(error) = std::fs::rename(from, to) {
            self.report(&error);
        }
    }

    fn remove_old(&self) {
        let mut files = log_files(&self.folder);
        files.sort();
        let surplus = files.len().saturating_sub(self.keep);
        for path in files.drain(..surplus) {
            // A file that another program removed first is gone, as intended.
            let _ = std::fs::remove_file(path);
        }
    }

    fn report(&mut self, error: &std::io::Error) {
        if !std::mem::replace(&mut self.broken, true) {
            let folder = self.folder.display();
            // The last resort: if stderr fails too, the record is lost.
            let _ = writeln!(std::io::stderr(), "the log file in {folder} cannot be written: {error}");
        }
    }
}

fn log_files(folder: &Path) -> Vec<PathBuf> {
    let is_log = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("aethon-") && name.ends_with(".log")
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| entry.path()).filter(is_log).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use aethon_core::log::Level;

    use super::*;

    fn record(ts: &str) -> LogRecord {
        let ts = ts.parse().unwrap();
        LogRecord {
            ts,
            level: Level::Info,
            target: "t".into(),
            message: "m".into(),
            fields: Default::default(),
        }
    }

    #[test]
    fn a_file_that_is_too_large_makes_room_for_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = LogFile { max_bytes: 100, ..LogFile::new(folder.path().to_owned(), 5) };
        for n in 0..100 {
            file.write(&record("2026-11-01T10:00:00Z"), &format!("line {n:02} of many\n"));
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let (earlier, newest) = (read("aethon-2026-11-01.0.log"), read("aethon-2026-11-01.log"));
        assert!(earlier.len() < 120 && newest.len() < 120 && newest.ends_with("line 99 of many\n"));
        let lines = (earlier + &newest).lines().count();
        let first = 100 - lines;
        assert!(
            read("aethon-2026-11-01.0.log").starts_with(&format!("line {first:02}")),
            "none is missing between"
        );
        assert_eq!(log_files(folder.path()).len(), 2);
    }

    #[test]
    fn each_day_has_a_file_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = LogFile::new(folder.path().to_owned(), 2);
        for day in 1..=4 {
            file.write(&record(&format!("2026-11-0{day}T10:00:00Z")), "line\n");
        }
        let mut names = log_files(folder.path());
        names.sort();
        assert_eq!(
            names,
            ["2026-11-03", "2026-11-04"].map(|day| folder.path().join(format!("aethon-{day}.log")))
        );
        assert_eq!(std::fs::metadata(&names[0]).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn records_before_the_home_exists_are_not_lost() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("logs");
        let mut file = LogFile::new(folder.clone(), 2);
        let now = record("2026-11-01T10:00:00Z");
        file.write(&now, "early\n");
        std::fs::create_dir(&folder).unwrap();
        file.write(&now, "late\n");
        assert_eq!(std::fs::read_to_string(&log_files(&folder)[0]).unwrap(), "early\nlate\n");
    }
}
