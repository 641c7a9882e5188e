//! The seal by which a home recognises the recordings that it made itself.
//!
//! A ZIP in the folder may come from a stranger. One whose manifest bears a seal made with this home's key holds a
//! conversation that was led here, with the marks that it had; any other is foreign text when it is resumed.
//! The key lies where tools and commands do not reach.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::record::StoredManifest;

/// The length of a key in bytes.
const KEY_BYTES: usize = 32;

/// The key of a home for its recordings. Cheap to clone.
#[derive(Clone)]
pub struct Seal(Arc<hmac::Key>);

impl Seal {
    /// Reads the key from a file, or makes a file with a fresh one. Of several programs that do so at once, one makes it.
    pub fn load_or_create(file: &Path) -> io::Result<Self> {
        if let Some(seal) = Self::load(file)? {
            return Ok(seal);
        }
        let mut key = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut key).map_err(|_| io::Error::other("there is no randomness"))?;
        let new = file.with_extension(format!("new-{}", std::process::id()));
        let mut made = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let linked = made.write_all(&key).and_then(|()| made.sync_all()).and_then(|()| {
            match fs::hard_link(&new, file) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                outcome => outcome,
            }
        });
        // The name is temporary, whatever became of the key.
        let _ = fs::remove_file(&new);
        linked?;
        Self::load(file)?.ok_or_else(|| io::Error::other("the key of the recordings cannot be read back"))
    }

    /// Reads the key from a file; `None` if there is none, or none that could be one.
    pub fn load(file: &Path) -> io::Result<Option<Self>> {
        match fs::read(file) {
            Ok(key) if key.len() == KEY_BYTES => Ok(Some(Self::of(&key))),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of(key: &[u8]) -> Self {
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key)))
    }

    /// Returns the seal of a manifest, in hexadecimal digits.
    pub(crate) fn sign(&self, manifest: &StoredManifest) -> serde_json::Result<String> {
        Ok(hex(hmac::sign(&self.0, &content(manifest)?).as_ref()))
    }

    /// Returns whether a manifest bears the seal of this key.
    pub(crate) fn made(&self, manifest: &StoredManifest) -> bool {
        let Some(seal) = manifest.seal.as_deref().and_then(bytes) else { return false };
        content(manifest).is_ok_and(|content| hmac::verify(&self.0, &content, &seal).is_ok())
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(***)")
    }
}

/// Returns the sealed content: everything in the manifest, and with the checksums everything in the recording.
fn content(manifest: &StoredManifest) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&StoredManifest { seal: None, ..manifest.clone() })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = hex
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn manifest() -> StoredManifest {
        StoredManifest {
            format_version: 1,
            session_id: "webchat:a".into(),
            started_at: "2026-11-22T10:00:00.123Z".parse().unwrap(),
            ended_at: "2026-11-22T11:00:00Z".parse().unwrap(),
            version: "0.3.0".into(),
            events_count: 2,
            snapshots_count: 1,
            entries: BTreeMap::from([("events.jsonl".to_owned(), "ab".to_owned())]),
            seal: None,
        }
    }

    #[test]
    fn a_seal_is_valid_only_for_its_key_and_an_unchanged_manifest() {
        let (ours, theirs) = (Seal::of(&[1; 32]), Seal::of(&[2; 32]));
        let mut sealed = manifest();
        sealed.seal = Some(ours.sign(&sealed).unwrap());
        let stored = serde_json::to_vec_pretty(&sealed).unwrap();
        let read: StoredManifest = serde_json::from_slice(&stored).unwrap();
        assert!(ours.made(&read) && !theirs.made(&read) && !ours.made(&manifest()));
        let changes: [fn(&mut StoredManifest); 5] = [
            |manifest| manifest.session_id.push('b'),
            |manifest| manifest.snapshots_count += 1,
            |manifest| {
                manifest.entries.insert("events.jsonl".into(), "ac".into());
            },
            |manifest| manifest.seal = Some("zz".into()),
            |manifest| manifest.seal = Some(String::new()),
        ];
        for change in changes {
            let mut changed = read.clone();
            change(&mut changed);
            assert!(!ours.made(&changed), "{changed:?}");
        }
    }

    #[test]
    fn a_home_has_one_key_that_only_its_user_reads() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("recordings.key");
        assert!(Seal::load(&file).unwrap().is_none());
        let (first, second) = (Seal::load_or_create(&file).unwrap(), Seal::load_or_create(&file).unwrap());
        let mut sealed = manifest();
        sealed.seal = Some(first.sign(&sealed).unwrap());
        assert!(second.made(&sealed) && Seal::load(&file).unwrap().unwrap().made(&sealed));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left there");
    }
}
