//! Which sign-ins were taken back, in a file of the home: a cookie that somebody has copied must not count again after a restart.
//!
//! A line for each, added when a browser signs out: the name of the sign-in and when it would have ended by itself. Neither makes
//! a cookie, which is signed with the key. Lines that have no meaning any more go when the file has grown long.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::sync::Arc;

/// How long the file may be at a start before it is written anew. A line has about 45 bytes.
const LONG: usize = 64 << 10;

/// The file; without one nothing is kept.
#[derive(Clone, Default)]
pub(crate) struct SignOuts(Option<Arc<File>>);

impl SignOuts {
    /// Those in this file, which is open for reading and appending.
    pub(crate) fn new(file: Option<Arc<File>>) -> Self {
        Self(file)
    }

    /// Names and ends of those that would still count.
    pub(super) fn read(&self, now: i64) -> Vec<(String, i64)> {
        let Some(file) = &self.0 else { return Vec::new() };
        read(file, now).unwrap_or_else(|error| {
            tracing::warn!(%error, "the list of ended sign-ins cannot be read, so a copied cookie may count again");
            Vec::new()
        })
    }

    /// Adds one.
    pub(super) async fn add(&self, name: String, ends: i64) {
        let Some(file) = self.0.clone() else { return };
        let written = tokio::task::spawn_blocking(move || {
            (&*file).write_all(line(&name, ends).as_bytes())?;
            file.sync_data()
        });
        if let Err(error) = written.await.unwrap_or_else(|panic| Err(io::Error::other(panic))) {
            tracing::warn!(%error, "a sign-out cannot be kept, so after a restart a copied cookie counts again");
        }
    }
}

fn line(name: &str, ends: i64) -> String {
    format!("{name} {ends}\n")
}

fn read(mut file: &File, now: i64) -> io::Result<Vec<(String, i64)>> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let sign_out = |line: &str| {
        let (name, ends) = line.split_once(' ')?;
        let ends = ends.parse().ok().filter(|ends| *ends > now)?;
        Some((name.to_owned(), ends))
    };
    let standing: Vec<_> = text.lines().filter_map(sign_out).collect();
    if text.len() > LONG {
        file.set_len(0)?;
        let lines: String = standing.iter().map(|(name, ends)| line(name, *ends)).collect();
        file.write_all(lines.as_bytes())?;
    }
    Ok(standing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_kept_is_there_and_what_is_over_goes() {
        let kept = SignOuts::new(Some(Arc::new(file())));
        kept.add("one".into(), 100).await;
        kept.add("two".into(), 200).await;
        assert_eq!(kept.read(50), [("one".to_owned(), 100), ("two".to_owned(), 200)]);
        assert_eq!(kept.read(100), [("two".to_owned(), 200)]);
        for _ in 0..2000 {
            (&**kept.0.as_ref().unwrap()).write_all(line(&"x".repeat(32), 90).as_bytes()).unwrap();
        }
        assert_eq!(kept.read(100).len(), 1);
        assert_eq!(kept.0.as_ref().unwrap().metadata().unwrap().len(), 8, "the rest is gone");
    }

    /// An empty file that has no name any more.
    fn file() -> File {
        let name = format!("aethon-sign-outs-{}", aethon_core::ids::unique());
        let path = std::env::temp_dir().join(name);
        let file = File::options().read(true).append(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }
}
