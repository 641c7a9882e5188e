//! Secrets that a person types into a set-up of the pages: kept as credentials, and named in the configuration.

use std::io;
use std::path::{Path, PathBuf};

use aethon_config::credentials;
use aethon_core::secret::Secret;
use tokio::task::spawn_blocking;

/// A secret in the home.
pub(crate) struct KeptSecret {
    /// The name of the credential.
    pub(crate) name: String,
    /// Whether it was not there before.
    pub(crate) is_new: bool,
}

impl KeptSecret {
    /// Returns its value in the configuration.
    pub(crate) fn reference(&self) -> String {
        format!("${{credential:{}}}", self.name)
    }
}

/// Stores a secret under the first of these names that is free or has this secret already: an existing credential may belong to
/// something else. `whose` says in an error what has all the names. Blocks.
pub(crate) fn store(
    folder: &Path,
    names: impl IntoIterator<Item = String>,
    secret: &Secret,
    whose: &str,
) -> io::Result<KeptSecret> {
    for name in names {
        match credentials::load(folder, &name)? {
            None => {
                credentials::store(folder, &name, secret)?;
                return Ok(KeptSecret { name, is_new: true });
            }
            Some(there) if there.expose() == secret.expose() => {
                return Ok(KeptSecret { name, is_new: false });
            }
            Some(_) => {}
        }
    }
    Err(io::Error::other(format!("a hundred other {whose} are there")))
}

/// Removes a secret that belongs to nothing, because the configuration could not be written; not one that was there before.
/// `what` names it in the log.
pub(crate) async fn remove_unused(folder: PathBuf, kept: KeptSecret, what: &str) {
    if !kept.is_new {
        return;
    }
    let name = kept.name.clone();
    let removed = spawn_blocking(move || credentials::remove(&folder, &name)).await;
    if !matches!(removed, Ok(Ok(_))) {
        tracing::warn!(credential = kept.name, "{what} that is not used could not be removed");
    }
}

/// Returns text of the configuration in which a dollar sign refers to nothing.
pub(crate) fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn secret_is_kept_under_a_free_name_and_one_that_was_there_stays() {
        let home = tempfile::tempdir().unwrap();
        let names = || ["one", "two"].map(str::to_owned);
        let keep = |secret: &str| store(home.path(), names(), &Secret::new(secret), "keys");
        let (first, second) = (keep("a").unwrap(), keep("b").unwrap());
        assert_eq!((&*first.name, &*second.reference()), ("one", "${credential:two}"));
        let again = keep("a").unwrap();
        assert_eq!((&*again.name, again.is_new), ("one", false));
        let full = keep("c").err().map(|error| error.to_string());
        assert_eq!(full.as_deref(), Some("a hundred other keys are there"));
        remove_unused(home.path().to_owned(), again, "a key").await;
        remove_unused(home.path().to_owned(), second, "a key").await;
        assert!(credentials::load(home.path(), "one").unwrap().is_some());
        assert!(credentials::load(home.path(), "two").unwrap().is_none());
    }
}
