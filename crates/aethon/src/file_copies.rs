//! Copies of files among the small records of the storage, which every backend has: `storage.files = "database"`.
//!
//! A copy is cut into pieces, because a record is text and no backend should handle a whole recording at a time. Its head is written
//! last and removed first, so that a reader finds all pieces or none.

use std::sync::Arc;

use aethon_config::Config;
use aethon_core::channel::ChannelRecords;
use aethon_core::clock::Clock;
use aethon_core::error::{Error, Result};
use aethon_core::file_copies::{FileCopies, FileCopy, MAX_COPY};
use aethon_core::storage::{FilePlace, Storage};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How many bytes of a file a record holds.
const PIECE: usize = 1 << 20;

/// How long it is remembered that a copy was removed, so that an instance that was away removes its file as well.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(90 * 24);

/// How many copies of a kind are listed.
const MAX_LISTED: usize = 20_000;

/// The copies of one kind.
pub(crate) struct DatabaseCopies {
    records: Arc<dyn ChannelRecords>,
    clock: Arc<dyn Clock>,
    /// The owner of the heads among the records; that of the pieces has a longer name.
    kind: &'static str,
}

/// What the head of a copy says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Head {
    /// It is there, in so many pieces, all with this mark: those of an earlier copy of the name have another one.
    Stored { mark: String, pieces: usize, bytes: usize },
    /// It was removed.
    Removed,
}

/// Returns the copies of one kind, if the configuration wants them.
pub(crate) fn copies(
    config: &Config,
    storage: &Storage,
    clock: Arc<dyn Clock>,
    kind: &'static str,
) -> Option<Arc<dyn FileCopies>> {
    let records = storage.channel_records.clone();
    (config.storage.files == FilePlace::Database)
        .then(|| Arc::new(DatabaseCopies { records, clock, kind }) as _)
}

impl DatabaseCopies {
    fn pieces(&self) -> String {
        format!("{}-pieces", self.kind)
    }

    async fn head(&self, name: &str) -> Result<Option<Head>> {
        let head = self.records.get(self.kind, name).await?;
        // One that a later version wrote counts as none.
        Ok(head.and_then(|head| serde_json::from_str(&head).ok()))
    }

    async fn put_head(&self, name: &str, head: &Head, until: Option<Timestamp>) -> Result<()> {
        let head = serde_json::to_string(head)
            .map_err(|error| Error::internal("a copy of a file cannot be described").because(error))?;
        self.records.put(self.kind, name, &head, until).await
    }

    async fn drop_pieces(&self, head: Option<Head>) -> Result<bool> {
        let Some(Head::Stored { mark, pieces, .. }) = head else { return Ok(false) };
        for number in 0..pieces {
            self.records.take(&self.pieces(), &piece(&mark, number)).await?;
        }
        Ok(true)
    }
}

fn piece(mark: &str, number: usize) -> String {
    format!("{mark}/{number}")
}

#[async_trait]
impl FileCopies for DatabaseCopies {
    async fn put(&self, name: &str, content: Vec<u8>, until: Option<Timestamp>) -> Result<()> {
        if content.len() > MAX_COPY {
            let most = MAX_COPY >> 20;
            return Err(Error::full(format!(
                "{name} is too large for the database, which takes {most} MiB a file"
            )));
        }
        let before = self.head(name).await?;
        let mark = aethon_core::ids::unique();
        let mut pieces = 0;
        for part in content.chunks(PIECE) {
            let text = STANDARD.encode(part);
            self.records.put(&self.pieces(), &piece(&mark, pieces), &text, until).await?;
            pieces += 1;
        }
        self.put_head(name, &Head::Stored { mark, pieces, bytes: content.len() }, until).await?;
        self.drop_pieces(before).await.map(drop)
    }

    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(Head::Stored { mark, pieces, bytes }) = self.head(name).await? else { return Ok(None) };
        let mut content = Vec::with_capacity(bytes.min(MAX_COPY));
        for number in 0..pieces {
            // One that is missing was removed meanwhile.
            let Some(text) = self.records.get(&self.pieces(), &piece(&mark, number)).await? else {
                return Ok(None);
            };
            let damaged = |error| Error::internal(format!("the copy of {name} is damaged")).because(error);
            STANDARD.decode_vec(text, &mut content).map_err(damaged)?;
        }
        Ok((content.len() == bytes).then_some(content))
    }

    async fn remove(&self, name: &str) -> Result<bool> {
        let head = self.head(name).await?;
        let until = self.clock.now().checked_add(REMEMBERED).ok();
        self.put_head(name, &Head::Removed, until).await?;
        self.drop_pieces(head).await
    }

    async fn list(&self) -> Result<Vec<FileCopy>> {
        let heads = self.records.list(self.kind, "", MAX_LISTED).await?;
        let copy = |(name, head): (String, String)| {
            let head = serde_json::from_str(&head).ok()?;
            Some(FileCopy { name, is_removed: matches!(head, Head::Removed) })
        };
        Ok(heads.into_iter().filter_map(copy).collect())
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::testkit::ManualClock;
    use aethon_store::Store;

    use super::*;

    #[tokio::test]
    async fn copy_is_there_as_a_whole_until_it_is_removed_or_ends() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at("2026-11-28T10:00:00Z".parse().unwrap()));
        let mut options = aethon_store::Options::default();
        options.clock = clock.clone();
        let records: Arc<dyn ChannelRecords> =
            Arc::new(Store::open(&folder.path().join("a.db"), options).unwrap());
        let copies =
            |kind| DatabaseCopies { records: records.clone(), clock: clock.clone() as Arc<dyn Clock>, kind };
        let (one, other) = (copies("recordings"), copies("outputs"));
        let large: Vec<u8> = (0..PIECE * 2 + 17).map(|at| (at % 251) as u8).collect();
        for content in [Vec::new(), b"short".to_vec(), large.clone()] {
            one.put("a", content.clone(), None).await.unwrap();
            assert!(one.get("a").await.unwrap() == Some(content));
        }
        let pieces = || async { records.list("recordings-pieces", "", 100).await.unwrap().len() };
        assert_eq!(pieces().await, 3, "those of earlier copies are gone");
        assert_eq!(other.get("a").await.unwrap(), None, "of another kind");
        let copy = |name: &str, is_removed| FileCopy { name: name.into(), is_removed };
        assert!(one.remove("a").await.unwrap());
        assert_eq!((one.get("a").await.unwrap(), pieces().await), (None, 0));
        assert_eq!(one.list().await.unwrap(), [copy("a", true)]);
        assert!(!one.remove("b").await.unwrap());
        let until = clock.now().checked_add(SignedDuration::from_hours(1)).ok();
        other.put("c", large, until).await.unwrap();
        // A piece that is gone makes the copy unreadable, and never half.
        let mark = records.list("outputs-pieces", "", 9).await.unwrap().remove(1).0;
        records.take("outputs-pieces", &mark).await.unwrap();
        assert_eq!(other.get("c").await.unwrap(), None);
        clock.advance(SignedDuration::from_hours(2));
        assert_eq!(other.list().await.unwrap(), []);
    }
}
