//! The log file: one a day, the oldest removed, never more than `logging.keep_files`.
//!
//! Opened at the first record, so that a start costs nothing, and with mode 0600, because a log tells what its owner
//! does. A file that cannot be written is reported once on stderr; the program goes on.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use aethon_core::log::LogRecord;

pub(super) struct LogFile {
    folder: PathBuf,
    keep: usize,
    open: Option<(String, File)>,
    broken: bool,
}

impl LogFile {
    pub(super) fn new(folder: PathBuf, keep: usize) -> Self {
        Self { folder, keep: keep.max(1), open: None, broken: false }
    }

    pub(super) fn write(&mut self, record: &LogRecord, line: &str) {
        let day = record.ts.strftime("%Y-%m-%d").to_string();
        if self.open.as_ref().is_none_or(|(open_day, _)| *open_day != day) {
            self.open = self.start(day);
        }
        if let Some((_, file)) = &mut self.open
            && let Err(error) = file.write_all(line.as_bytes())
        {
            self.report(&error);
        }
    }

    fn start(&mut self, day: String) -> Option<(String, File)> {
        let path = self.folder.join(format!("aethon-{day}.log"));
        match OpenOptions::new().create(true).append(true).mode(0o600).open(path) {
            Ok(file) => {
                self.remove_old();
                Some((day, file))
            }
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
            // A file that somebody else removed first is gone, which is all that was wanted.
            let _ = std::fs::remove_file(path);
        }
    }

    fn report(&mut self, error: &std::io::Error) {
        if !std::mem::replace(&mut self.broken, true) {
            let folder = self.folder.display();
            // The last resort: when stderr fails too there is nobody left to tell.
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
}
