//! The log file: one per day, at most `logging.keep_files`, the oldest removed first.
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
const MOST_WAITING: usize = 200;

pub(super) struct LogFile {
    folder: PathBuf,
    keep: usize,
    open: Option<(String, File)>,
    waiting: Vec<String>,
    broken: bool,
}

impl LogFile {
    pub(super) fn new(folder: PathBuf, keep: usize) -> Self {
        Self { folder, keep: keep.max(1), open: None, waiting: Vec::new(), broken: false }
    }

    pub(super) fn write(&mut self, record: &LogRecord, line: &str) {
        let day = record.ts.strftime("%Y-%m-%d").to_string();
        if self.open.as_ref().is_none_or(|(open_day, _)| *open_day != day) {
            self.open = self.start(day);
        }
        let Some((_, file)) = &mut self.open else {
            if self.waiting.len() < MOST_WAITING {
                self.waiting.push(line.to_owned());
            }
            return;
        };
        let early = std::mem::take(&mut self.waiting).concat();
        if let Err(error) = file.write_all(early.as_bytes()).and_then(|()| file.write_all(line.as_bytes())) {
            self.report(&error);
        }
    }

    fn start(&mut self, day: String) -> Option<(String, File)> {
        let path = self.folder.join(format!("aethon-{day}.log"));
        match private_file::open(&path, OpenOptions::new().append(true)) {
            Ok(file) => {
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

    fn remove_old(&self) {
        let mut files = log_files(&self.folder);
        files.sort();
        let surplus = files.len().saturating_sub(self.keep);
        for path in files.drain(..surplus) {
            // A file that somebody else removed first is gone, as intended.
            let _ = std::fs::remove_file(path);
        }
    }

    fn report(&mut self, error: &std::io::Error) {
        if !std::mem::replace(&mut self.broken, true) {
            let folder = self.folder.display();
            // The last resort: if stderr fails too, nobody is left to tell.
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
    fn what_is_said_before_the_home_is_there_is_not_lost() {
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
